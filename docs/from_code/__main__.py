"""Write every place that comes from the code: ``python -m docs.from_code``, or `make docs`."""

from docs.from_code.pages import ROOT, pages, renewed

for page in pages():
    before = page.read_text(encoding="utf-8")
    after = renewed(before)
    if after != before:
        page.write_text(after, encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: written anew")
