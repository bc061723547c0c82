"""Python: runners, their wrappers in modules, and environment tools."""

from typing import Final

from app.testruns.rows import Runner, program, script, verb

RUNNERS: Final[tuple[Runner, ...]] = (
    program(
        "pytest py.test pytest-3",
        valued="""-k -m -n -c -p -o -W -r --deselect --rootdir --confcutdir --ignore --ignore-glob
            --maxfail --durations --tb --junitxml --junit-xml --cov-report --cov-config --timeout
            --dist --numprocesses --log-level --log-cli-level --log-file --basetemp --capture
            --import-mode --ds --reruns --override-ini --config-file --splits --group --color
            --randomly-seed --html --pdbcls --verbosity --show-capture --last-failed-no-failures""",
        narrows="-k -m --deselect --ignore --ignore-glob --lf --last-failed --sw --stepwise",
        idle="""--co --collect-only --collectonly --fixtures --funcargs --fixtures-per-test
            --markers -V -VV --setup-plan --setup-only --cache-show --generate-missing
             --list-tests""",
    ),
    program(
        "unittest",
        verbs="discover",
        valued="-k -s -p -t --pattern --start-directory --top-level-directory",
        narrows="-k -s -p --pattern --start-directory",
    ),
    program(
        "regrtest", valued="-j -u -m -i -x", narrows="-m -i -x", idle="--list-tests --list-cases"
    ),
    program("nose2", valued="-s -c -t", narrows="-s", idle="--collect-only"),
    program("nosetests", valued="-w -a -m -c", narrows="-a -m", idle="--collect-only -V --plugins"),
    program("trial", valued="-j -r", idle="--help-reporters --help-orders"),
    program("zope-testrunner", valued="-t -m -s", narrows="-t -m -s", idle="--list-tests"),
    program("green ward"),
    program("ptw pytest-watch pytest-watcher", valued="--runner -c --now"),
    program(
        "behave",
        valued="-t --tags -n --name -D -f --format -i --include -e --exclude -o --outfile --lang",
        narrows="-t --tags -n --name -i --include -e --exclude",
        idle="-d --dry-run --lang-list --lang-help --tags-help --steps-catalog",
    ),
    program(
        "robot pabot",
        valued="""-t --test -s --suite -i --include -e --exclude -d --outputdir -v --variable -A
            --argumentfile -P --pythonpath --processes -L --loglevel -o --output -l --log
            -r -x --xunit -N --name --listener""",
        narrows="-t --test -s --suite -i --include -e --exclude",
        idle="--dryrun --dry-run",
    ),
    program("lettuce radish tavern-ci"),
    program("runtests.py runtests"),
    verb("avocado", "run"),
    verb("stestr", "run", "last-failing"),
    program("ostestr testflo", idle="--list"),
    verb("testr", "run"),
    verb("schemathesis st", "run"),
    verb("mutmut", "run"),
    verb("cosmic-ray", "exec"),
    verb("scrapy", "check", idle="-l"),
    verb(
        "django-admin manage.py manage",
        "test",
        "behave",
        "jenkins",
        valued="--settings --pythonpath --tag --exclude-tag -k --parallel -v -p --pattern -t",
        narrows="--tag --exclude-tag -k -p --pattern",
    ),
    verb("flask quart", "test"),
    verb("briefcase", "dev", "run", requires="--test"),
    verb("setup.py", "test", "pytest", "nosetests", "trial", anywhere=True),
    verb(
        "bench",
        "run-tests",
        "run-parallel-tests",
        "run-ui-tests",
        anywhere=True,
        valued="--site --app --doctype --module --test",
        narrows="--app --doctype --module --test",
    ),
    program(
        "odoo odoo-bin",
        valued="-d -i -u -c --test-tags",
        narrows="--test-tags -i -u",
        requires="--test-enable --test-tags --test-file",
    ),
    program("sage", requires="-t --test -tp"),
    verb(
        "hatch", "test", valued="-e --env -p --project -i -x -py", idle="-s --show", narrows="-i -x"
    ),
    script("hatch", "run", "env run", valued="-e --env -p --project -i -x"),
    verb("pdm spin", "test"),
    script("pdm", "run", "", valued="-p --project"),
    verb("rye", "test", valued="-p --package", narrows="-p --package"),
    script("rye", "run"),
    script(
        "uv",
        "run",
        valued="""--with --with-requirements --with-editable -p --python --group
        --extra --project --directory --env-file --package --index-url --only-group --no-group""",
    ),
    script("poetry", "run", "poe", folders="-C --directory -P --project"),
    script("pipenv", "run"),
    script("pixi", "run", "r", "task run", valued="-e --environment --manifest-path -p --platform"),
    script("poe poethepoet", "", folders="-C --root --directory", valued="-e --executor"),
    script("conda-project anaconda-project", "run"),
)
