"""Whom the way out of the sandbox leads to: names of a list, addresses of the internet."""

import pytest

from app.adapters.sandbox.hosts import is_listed, is_public, plain_name

OURS = """\
127.0.0.1 127.9.9.9 0.0.0.0 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254
100.64.0.1 100.100.100.200 168.63.129.16 192.0.0.192 192.88.99.1 198.18.0.1 192.0.2.1 224.0.0.1
239.255.255.250 240.0.0.1 255.255.255.255
:: ::1 fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001:db8::1
::ffff:127.0.0.1 ::ffff:169.254.169.254 ::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::1
2002:7f00:1:: 2001:0:4136:e378:8000:63bf:3fff:fdd2
localhost 2130706433 0x7f000001 1.2.3 1.2.3.4.5
"""
EVERYBODYS = "1.1.1.1 151.101.0.223 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:1.1.1.1"


@pytest.mark.parametrize("address", [*OURS.split(), ""])
def test_no_address_near_the_service_is_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", EVERYBODYS.split())
def test_an_address_of_the_internet_is(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("pypi.org", "pypi.org"),
        ("PyPI.org.", "pypi.org"),
        ("localhost", "localhost"),
        ("a_b.example.org", "a_b.example.org"),
        ("4chan.org", "4chan.org"),
        ("1.2.3.4", None),
        ("2130706433", None),
        ("0x7f.1", None),
        ("::1", None),
        ("", None),
        (".", None),
        ("pypi..org", None),
        ("-a.org", None),
        ("a-.org", None),
        ("pypi.org/", None),
        ("pypi.org\x00.evil.org", None),
        ("pypi.org evil.org", None),
        ("pÿpi.org", None),
        ("\u0130.org", None),
        (f"{'a' * 64}.org", None),
        (".".join(["a" * 60] * 5), None),
    ],
)
def test_a_name_is_plain_or_none(said: str, name: str | None) -> None:
    assert plain_name(said) == name


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        ("pypi.org", True),
        ("files.pythonhosted.org", True),
        ("a.b.pythonhosted.org", True),
        ("pythonhosted.org", False),
        ("evilpythonhosted.org", False),
        ("pypi.org.evil.org", False),
        ("www.pypi.org", False),
        ("org", False),
    ],
)
def test_a_list_means_what_it_says(name: str, is_there: bool) -> None:
    assert is_listed(name, ("PyPI.org", "*.pythonhosted.org")) is is_there


def test_an_empty_list_lets_nobody_through() -> None:
    assert not is_listed("pypi.org", ())
