"""`.squadron/` → plan: what is valid, every mistake with its place, and what a mistake breaks."""

import pytest

from app.config.builtin import BUILT_IN_ROLES, built_in_roles
from app.config.operator import OperatorConfig, read_operator
from app.config.repository import RepositoryReading, read_repository
from app.core.limits import Limits
from app.core.rules.plan import Layer, Origin, RepositoryPlan, RoleKind
from app.core.rules.trust import Permission, TrustRules
from app.testruns import SuiteRules

SEED_002 = """\
# .squadron/config.yaml (circuit_breakers section)

circuit_breakers:
  defaults:
    max_iterations: 5         # test-fix retry cycles before escalation
    max_tool_calls: 200       # total tool invocations per task
    max_turns: 50             # LLM conversation turns per task
    max_active_duration: 7200 # seconds in ACTIVE state (2 hours)
    max_sleep_duration: 86400 # seconds in SLEEPING state (24 hours)
    warning_threshold: 0.80   # warn agent at 80% of any limit

  roles:
    pm:
      max_tool_calls: 50
      max_turns: 10
      max_active_duration: 600    # 10 minutes per event batch
    pr-review:
      max_tool_calls: 100
      max_turns: 20
      max_active_duration: 1800   # 30 minutes
    security-review:
      max_tool_calls: 100
      max_turns: 20
      max_active_duration: 1800   # 30 minutes
    feat-dev:
      # uses defaults
    bug-fix:
      # uses defaults
"""

ALL_DEFAULTS = """\
triggers:
  labels:                       # label: role      (`squadron:<role>` always works)
  events:                       # example: roles started by an event instead of a label
trust:
  start: write                  # least permission of the sender: admin | maintain | write | triage
  logins: []                    # further people, by login
  bots: []                      # exact logins of Apps; still checked; '*' is an error
  teams: []                     # everybody in them, as org/team
circuit_breakers:               # seed 002's block works here verbatim
  defaults:
    max_iterations: 5
    max_tool_calls: 200
    max_turns: 50
    max_active_duration: 7200
    max_sleep_duration: 86400
    max_model_calls: null
    max_tokens: null
    max_output_tokens_per_call: 8192
    max_cost_usd: null
    max_planning_cost_usd: null
    max_execution_cost_usd: null
    max_consecutive_tools: null
    max_tool_calls_per_turn: null
    max_repeated_errors: 3
    max_repeated_calls: 5
    max_spawns: 10
    max_depth: 2
    max_idle_duration: 900
    warning_threshold: 0.80
    summary_wait: 60            # seconds to summarise after a trip
    running_tool_wait: 300      # seconds that a tool which runs at the trip may still take
    max_review_wait: 604800
    iteration_mode: fix_cycles  # or test_runs
    on_limit: escalate          # or a map
    shadow: []                  # limits that are judged and shown, never acted on
  roles:
roles:
  bug-fix:
    agent: agents/bug-fix.md    # default: agents/<role>.md, else the built-in definition
    runtime: embedded           # embedded | copilot | claude
    model: null                 # operator's default; must be on the operator's list
    planning_model: null
    tools: null                 # names allowed
    setup: []                   # commands that prepare the workspace before the first turn
budgets: []
branch_naming: "squadron/{role}/issue-{issue}"      # also {slug}
escalation:
  labels: [needs-human, escalation]
  assignees: []                 # who is notified
  mention: []                   # @user or @org/team, in the issue's text
  max_issue_depth: 3
  max_issues_per_day: 10
test_commands: {add: [], exclude: []}
enabled: true                   # false: nothing starts here
"""


def read(config: str | bytes, **agents: str) -> RepositoryReading:
    files = {f"agents/{name.replace('_', '-')}.md": text for name, text in agents.items()}
    return read_repository({"config.yaml": config, **files}, OperatorConfig())


def planned(config: str, **agents: str) -> RepositoryPlan:
    reading = read(config, **agents)
    assert reading.problems == ()
    assert reading.plan is not None
    return reading.plan


def lines(reading: RepositoryReading) -> list[str]:
    return [str(problem).removeprefix(".squadron/") for problem in reading.problems]


def test_without_files_everything_has_its_default_and_the_built_in_roles_exist() -> None:
    plan = read_repository({}, OperatorConfig()).plan
    assert plan is not None
    assert tuple(plan.roles) == BUILT_IN_ROLES
    assert plan.roles["bug-fix"].limits == Limits()
    assert plan.roles["pm"].limits == Limits(
        max_tool_calls=50, max_turns=10, max_active_duration=600
    )
    assert plan.roles["pr-review"].tools == ("view",)
    assert (plan.trust, plan.suites, plan.enabled) == (TrustRules(), SuiteRules(), True)


def test_the_block_of_seed_002_works_verbatim() -> None:
    plan = planned(SEED_002)
    reviewer = Limits(max_tool_calls=100, max_turns=20, max_active_duration=1800)
    assert plan.roles["pm"].limits == Limits(
        max_tool_calls=50, max_turns=10, max_active_duration=600
    )
    assert plan.roles["pr-review"].limits == plan.roles["security-review"].limits == reviewer
    assert plan.roles["feat-dev"].limits == plan.roles["bug-fix"].limits == Limits()
    origins = plan.roles["pm"].origins
    assert origins["max_turns"] == Origin(Layer.REPOSITORY_ROLE)
    assert origins["max_iterations"] == Origin(Layer.REPOSITORY)
    assert origins["summary_wait"] == Origin(Layer.BUILT_IN)


def test_a_file_that_spells_out_every_documented_default_changes_nothing() -> None:
    agent = built_in_roles()["bug-fix"].prompt
    plan = planned(ALL_DEFAULTS, bug_fix=agent)
    bare = read_repository({}, OperatorConfig()).plan
    assert bare is not None
    assert plan.roles["bug-fix"].limits == bare.roles["bug-fix"].limits
    assert (plan.labels, plan.events, plan.trust) == (bare.labels, bare.events, bare.trust)
    assert (plan.escalation, plan.branch_naming) == (bare.escalation, bare.branch_naming)


def test_everything_said_arrives_in_the_plan() -> None:
    plan = planned(
        """
triggers: {labels: {bug: bug-fix, on: pm}, events: {issues.opened: pm}}
trust: {start: maintain, logins: [octocat], bots: ["dependabot[bot]"], teams: [octo/core]}
circuit_breakers: {defaults: {max_turns: null, iteration_mode: test_runs}}
roles:
  bug-fix: {model: "openai:gpt-5", tools: [bash, view], setup: ["make install"]}
branch_naming: "work/{issue}-{slug}/{role}"
escalation: {labels: [help], assignees: [octocat], mention: ["@octo/team"]}
test_commands: {add: ["make 'verify all'"], exclude: [make docs]}
enabled: false
"""
    )
    fixer = plan.roles["bug-fix"]
    assert (plan.labels, plan.events) == ({"bug": "bug-fix", "on": "pm"}, {"issues.opened": "pm"})
    assert plan.trust == TrustRules(
        Permission.MAINTAIN, ("octocat",), ("dependabot[bot]",), ("octo/core",)
    )
    assert (fixer.limits.max_turns, fixer.limits.iteration_mode) == (None, "test_runs")
    assert (fixer.model, fixer.tools) == ("openai:gpt-5", ("bash", "view"))
    assert fixer.setup == ("make install",)
    assert plan.branch_naming == "work/{issue}-{slug}/{role}"
    assert (plan.escalation.labels, plan.escalation.mention) == (("help",), ("@octo/team",))
    assert plan.suites == SuiteRules(add=(("make", "verify all"),), exclude=(("make", "docs"),))
    assert not plan.enabled


LIMIT = "circuit_breakers.defaults"

MISTAKES = {
    "a: [1": "1:4: this [ is not closed before the end of the file: a comma or ] is missing",
    "- a": "1:1: must be a mapping (key: value), not a list",
    "enabled: true\nenabled: true": "2:1: enabled: given twice, first in line 1",
    "enabeld: true": "1:1: enabeld: unknown key (did you mean enabled?)",
    "enabled: yes": '1:10: enabled: must be true or false, not text "yes"',
    "enabled: &a true\n---\n": "2:1: only one YAML document in a file",
    "budgets: *a": "1:10: budgets: aliases are not supported: write the value out",
    "enabled: !!bool true": "1:10: enabled: tags are not supported: leave the !… out",
    "1: 2": "1:1: a key must be text, not 1: write it in quotes",
    "budgets: [x]": '1:11: budgets[0]: must be a mapping (key: value), not text "x"',
    "trust: {start: reed}": '1:16: trust.start: unknown permission "reed" '
    "(known: admin, maintain, write, triage)",
    "trust: {bots: ['*']}": '1:16: trust.bots[0]: "*" would let other Apps in: '
    "name each App's exact login",
    "trust: {logins: x}": '1:17: trust.logins: must be a list, not text "x"',
    "trust: {teams: [leads]}": "1:17: trust.teams[0]: must be a team with its organization "
    '(octo/leads), not "leads"',
    "trust:\n  logins:\n  - a b": '3:5: trust.logins[0]: must be a login, not "a b"',
    "triggers: {labels: {'squadron:pm': pm}}": "1:21: triggers.labels.squadron:pm: "
    "squadron:<role> always starts that role: leave it out",
    "triggers: {events: {push: pm}}": "1:21: triggers.events.push: not supported by this version: "
    'event "push" (known: issues.opened, issues.reopened, pull_request.opened, '
    "pull_request.reopened, pull_request.ready_for_review, pull_request.synchronize)",
    "triggers: {labels: {x: Y}}": "1:24: triggers.labels.x: a role's name has lower-case letters, "
    "digits and single hyphens, starts with a letter, and has at most 40 characters (like bug-fix)",
    "circuit_breakers: {defaults: {max_tool_cals: 3}}": f"1:31: {LIMIT}.max_tool_cals: "
    "unknown key (did you mean max_tool_calls?)",
    "circuit_breakers: {defaults: {max_turns: '5'}}": f"1:42: {LIMIT}.max_turns: "
    'must be a whole number, not text "5": write 5',
    "circuit_breakers: {defaults: {max_active_duration: 2h}}": "1:52: "
    f"{LIMIT}.max_active_duration: "
    'must be a whole number, not text "2h": write 7200',
    "circuit_breakers: {defaults: {max_cost_usd: $5}}": f"1:45: {LIMIT}.max_cost_usd: "
    'must be a number, not text "$5": write 5',
    "circuit_breakers: {defaults: {max_turns: 1.5k}}": f"1:42: {LIMIT}.max_turns: "
    'must be a whole number, not text "1.5k"',
    "setup: [make deps]": "1:1: setup: unknown key: write it under roles.<role>, or as a script in "
    ".squadron/setup.sh",
    "sandbox: {mode: off}": "1:1: sandbox: unknown key: write it in the operator's file, which "
    "SQUADRON_CONFIG names",
    "max_turns: 5": "1:1: max_turns: unknown key: write it under circuit_breakers.defaults",
    "model: 'openai:x'": "1:1: model: unknown key: write it under roles.<role>",
    "circuit_breakers: {defaults: {max_turns: true}}": f"1:42: {LIMIT}.max_turns: "
    "must be a whole number, not true",
    "circuit_breakers: {defaults: {max_turns: 5.0}}": f"1:42: {LIMIT}.max_turns: "
    "must be a whole number, not 5.0",
    "circuit_breakers: {defaults: {max_turns: 012}}": f"1:42: {LIMIT}.max_turns: "
    'must be a whole number, not text "012": write 12',
    "circuit_breakers: {defaults: {max_turns: 0}}": f"1:42: {LIMIT}.max_turns: "
    "must be 1 to 100000, not 0",
    "circuit_breakers: {defaults: {max_turns: 100001}}": f"1:42: {LIMIT}.max_turns: "
    "must be 1 to 100000, not 100001",
    "circuit_breakers: {defaults: {max_sleep_duration: null}}": f"1:51: {LIMIT}."
    "max_sleep_duration: cannot be switched off",
    "circuit_breakers: {defaults: {warning_threshold: .inf}}": f"1:50: {LIMIT}."
    "warning_threshold: must be a finite number, not inf",
    "circuit_breakers: {defaults: {warning_threshold: .nan}}": f"1:50: {LIMIT}."
    "warning_threshold: must be a finite number, not nan",
    "circuit_breakers: {defaults: {warning_threshold: 1.01}}": f"1:50: {LIMIT}."
    "warning_threshold: must be above 0 and at most 1",
    "circuit_breakers: {defaults: {summary_wait: 601}}": f"1:45: {LIMIT}.summary_wait: "
    "must be 0 to 600",
    "circuit_breakers: {defaults: {iteration_mode: x}}": f"1:47: {LIMIT}.iteration_mode: "
    "must be 'fix_cycles' or 'test_runs', not text \"x\"",
    "branch_naming: x/{rol}/{issue}": "1:16: branch_naming: unknown placeholder {rol} "
    "(did you mean role?)",
    "branch_naming: x/{role}": "1:16: branch_naming: must contain {issue}, "
    "or two issues would share a branch",
    "branch_naming: x/{issue}-{slug}": "1:16: branch_naming: must contain {role}, "
    "or two roles at work on one issue would share a branch",
    "branch_naming: 'x/{role}{issue}'": "1:16: branch_naming: {issue} must be apart from other "
    "placeholders: role1 on #2 and role on #12 would share a branch",
    "branch_naming: 'x..{issue}/{role}'": "1:16: branch_naming: does not give a valid branch name "
    "(example: 'x..1/bug-fix')",
    "branch_naming: 'x-{issue:5}'": "1:16: branch_naming: placeholders take no format: "
    "write {issue}, not {issue:05}",
    "branch_naming: 'x-{issue'": "1:16: branch_naming: is not a pattern: "
    "expected '}' before end of string",
    "escalation: {mention: [octocat]}": "1:24: escalation.mention[0]: must be @user or @org/team, "
    'not "octocat"',
    "escalation: {labels: [Bug]}\ntriggers: {labels: {bug: pm}}": "1:23: escalation.labels[0]: "
    "this label would start an agent",
    "escalation: {waiting_label: BUG}\ntriggers: {labels: {bug: pm}}": "1:29: "
    "escalation.waiting_label: this label would start an agent",
    "escalation: {waiting_label: 'Squadron:pm'}": "1:29: escalation.waiting_label: "
    "this label would start an agent",
    'test_commands: {add: ["a \'b"]}': "1:23: test_commands.add[0]: cannot be split into words: "
    "No closing quotation",
    "test_commands: {add: ['']}": "1:23: test_commands.add[0]: a command has 1 to 2000 characters",
    "circuit_breakers: {defaults: {max_turns: 99999999999999999999999}}": f"1:42: {LIMIT}."
    "max_turns: must be 1 to 100000, not 99999999999999999999999",
    "circuit_breakers: {defaults: {max_cost_usd: 99999999999999999999999}}": f"1:45: {LIMIT}."
    "max_cost_usd: must be 0.01 to 1000000, not 1e+23",
    f"circuit_breakers: {{defaults: {{max_turns: {'9' * 5_000}}}}}": f"1:42: {LIMIT}."
    "max_turns: a whole number has at most 40 digits",
    "budgets:\n- {scope: role, name: feat-dv, window: day, max_cost_usd: 20}": "2:23: "
    "budgets[0].name: there is no role feat-dv (did you mean feat-dev?)",
    'branch_naming: "\\0{issue}"': "1:16: branch_naming: control characters are not allowed "
    "in a text",
}


@pytest.mark.parametrize(("config", "problem"), MISTAKES.items())
def test_a_mistake_outside_a_role_is_said_with_its_place_and_leaves_no_plan(
    config: str, problem: str
) -> None:
    reading = read(config)
    assert lines(reading)[0] == f"config.yaml:{problem}"
    assert len(reading.problems) == 1
    assert reading.plan is None


ROLE_MISTAKES = {
    "{runtime: embeded}": '1:27: roles.custom.runtime: unknown runtime "embeded" '
    "(did you mean embedded?)",
    "{model: gpt-5}": "1:25: roles.custom.model: "
    'must be provider:name (like openai:gpt-5), not "gpt-5"',
    "{model: 'opnai:gpt-5'}": '1:25: roles.custom.model: unknown provider "opnai" '
    "(did you mean openai?)",
    "{planning_model: gpt-5}": "1:34: roles.custom.planning_model: "
    'must be provider:name (like openai:gpt-5), not "gpt-5"',
    "{max_turns: 3}": "1:18: roles.custom.max_turns: unknown key: "
    "write it under circuit_breakers.roles.<role>, or in the agent file",
    "{tools: [veiw]}": '1:26: roles.custom.tools[0]: unknown tool "veiw" (did you mean view?)',
    "{tools: [report_complete]}": "1:26: roles.custom.tools[0]: "
    "report_complete is always there: leave it out",
    "{setup: ['  ']}": "1:26: roles.custom.setup[0]: a command has 1 to 2000 characters",
    "{agent: ../pm.md}": '1:25: roles.custom.agent: "../pm.md" leaves .squadron/: '
    "name a file inside it",
    "{agent: /etc/pm.md}": '1:25: roles.custom.agent: "/etc/pm.md" leaves .squadron/: '
    "name a file inside it",
    "{agent: agents/pm.txt}": "1:25: roles.custom.agent: must be the path of a .md file "
    'inside .squadron/, not "agents/pm.txt"',
    "{agent: prompts/custom.md}": "1:25: roles.custom.agent: must be a file in agents/, as in "
    'agents/NAME.md, not "prompts/custom.md"',
    "{agent: agents/sub/custom.md}": "1:25: roles.custom.agent: must be a file in agents/, as in "
    'agents/NAME.md, not "agents/sub/custom.md"',
    "{agent: agents/custm.md}": "1:25: roles.custom.agent: "
    "there is no file .squadron/agents/custm.md (did you mean agents/custom.md?)",
    "[]": "1:17: roles.custom: must be a mapping (key: value), not a list",
    "{modle: null}": "1:18: roles.custom.modle: unknown key (did you mean model?)",
}


@pytest.mark.parametrize(("block", "problem"), ROLE_MISTAKES.items())
def test_a_mistake_inside_a_role_breaks_that_role_only(block: str, problem: str) -> None:
    reading = read(f"roles: {{custom: {block}}}", custom="Work.")
    assert lines(reading) == [f"config.yaml:{problem}"]
    assert reading.plan is not None
    assert reading.plan.broken == {"custom": reading.problems}
    assert tuple(reading.plan.roles) == BUILT_IN_ROLES


MISPLACED = "the frontmatter must begin with a line `---` at the very top"

AGENT_FILE_MISTAKES = {
    " ---\nmax_turns: 3\n---\nx": f"1:2: {MISPLACED}",
    "--- # head\nmax_turns: 3\n---\nx": f"1:1: {MISPLACED}",
    "----\nmax_turns: 3\n----\nx": f"1:1: {MISPLACED}",
    "+++\nmax_turns = 3\n+++\nx": f"1:1: {MISPLACED}",
    "\n\n ---\nmax_turns: 3\n---\nx": f"3:2: {MISPLACED}",
    "<!-- ours -->\n---\nmax_turns: 3\n---\nx": f"2:1: {MISPLACED}",
    "<!-- a\nb -->\n\n<!-- c -->---\nmax_turns: 3\n---\nx": f"4:11: {MISPLACED}",
    "\ufeff\ufeff---\nmax_turns: 3\n---\nx": f"1:2: {MISPLACED}",
    "max_turns: 3\n---\nx": f"1:1: {MISPLACED}",
    "# Role\n\n---\nmax_turns: 3\n---\nx": f"3:1: {MISPLACED}",
    "\n\n---\nmax_turns: none\n---\nx": '4:12: max_turns: must be a whole number, not text "none"',
    "---\rmax_turns: none\r---\rx": '2:12: max_turns: must be a whole number, not text "none"',
    "---\nmax_turns: 3": "1:1: the frontmatter has no closing --- line",
    "---\na: [\n---\nx": "2:4: this is not closed before the end of the file",
    "---\ndescription: x\nmax_turn: 3\n---\nx": "3:1: max_turn: unknown key "
    "(did you mean max_turns?)",
    "---\nmax_turns: none\n---\nx": '2:12: max_turns: must be a whole number, not text "none"',
    "---\nagent: agents/x.md\n---\nx": "2:1: agent: unknown key",
    "---\nmax_turns: 3\n---\n \n": "3:1: the agent file has no prompt",
    "": "1:1: the agent file has no prompt",
}


@pytest.mark.parametrize(("text", "problem"), AGENT_FILE_MISTAKES.items())
def test_a_mistake_in_an_agent_file_breaks_its_role_only(text: str, problem: str) -> None:
    reading = read("enabled: true", pm=text)
    assert len(reading.problems) == 1
    assert lines(reading)[0].startswith(f"agents/pm.md:{problem}")
    assert reading.plan is not None
    assert set(reading.plan.broken) == {"pm"}
    assert set(reading.plan.roles) == set(BUILT_IN_ROLES) - {"pm"}


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ("roles: {nosuch: {}}", "1:9"),
        ("circuit_breakers: {roles: {nosuch: {max_turns: 3}}}", "1:28"),
        ("triggers: {labels: {bug: nosuch}}", "1:26"),
    ],
)
def test_a_role_with_neither_agent_file_nor_built_in_definition_is_broken(
    config: str, place: str
) -> None:
    reading = read(config)
    assert lines(reading) == [
        f"config.yaml:{place}: the role nosuch has no agent file .squadron/agents/nosuch.md "
        "and is not built in (known: bug-fix, feat-dev, pm, pr-review, researcher, security-review)"
    ]
    assert reading.plan is not None
    assert set(reading.plan.broken) == {"nosuch"}


def test_a_role_whose_block_is_no_block_is_broken_even_if_nothing_else_mentions_it() -> None:
    reading = read("roles:\n  custom: []\n")
    assert [line.split(": ")[0] for line in lines(reading)] == [
        "config.yaml:2:3",
        "config.yaml:2:11",
    ]
    assert reading.plan is not None
    assert set(reading.plan.broken) == {"custom"}


def test_an_agent_file_whose_name_is_no_role_is_broken() -> None:
    reading = read_repository({"agents/READ ME.md": "Read."}, OperatorConfig())
    assert lines(reading)[0].startswith("agents/READ ME.md:1:1: a role's name has lower-case")
    assert reading.plan is not None
    assert set(reading.plan.broken) == {"READ ME"}


def test_every_mistake_is_reported_at_once_sorted_by_place() -> None:
    reading = read(
        "trust: {strat: x}\nroles: {pm: {runtime: x}}\nbudgets: 1\nenabled: 1\n",
        bug_fix="---\nx: 1\n---\n",
        pm="---\ny: 1\n---\nWork.",
    )
    assert [line.rsplit(": ", 1)[0].split(": ")[0] for line in lines(reading)] == [
        "agents/bug-fix.md:2:1",
        "agents/bug-fix.md:3:1",
        "agents/pm.md:2:1",
        "config.yaml:1:9",
        "config.yaml:2:23",
        "config.yaml:3:10",
        "config.yaml:4:10",
    ]


def test_an_agent_file_makes_a_role_and_its_frontmatter_wins() -> None:
    plan = planned(
        "circuit_breakers: {roles: {scout: {max_turns: 7, max_tool_calls: 70}}}\n"
        "roles: {scout: {model: 'openai:a'}}",
        scout="---\ndescription: Looks.\nmax_turns: 3\nmodel: openai:b\n---\n\n# Look\n",
    )
    scout = plan.roles["scout"]
    assert (scout.description, scout.prompt, scout.model) == ("Looks.", "# Look", "openai:b")
    assert (scout.limits.max_turns, scout.limits.max_tool_calls) == (3, 70)
    assert scout.origins["max_turns"] == Origin(Layer.AGENT_FILE)
    assert scout.origins["max_tool_calls"] == Origin(Layer.REPOSITORY_ROLE)


def test_a_named_agent_file_belongs_to_the_role_that_names_it() -> None:
    files = {
        "config.yaml": "roles: {pm: {agent: agents/planner.md}}",
        "agents/planner.md": "Plan.",
        "agents/notes/x.md": "",
    }
    plan = read_repository(files, OperatorConfig()).plan
    assert plan is not None
    assert plan.roles["pm"].prompt == "Plan."
    assert tuple(plan.roles) == BUILT_IN_ROLES


def test_a_review_role_cannot_be_given_tools_that_write() -> None:
    reading = read("roles: {pr-review: {tools: [view, bash]}}")
    assert lines(reading) == [
        "config.yaml:1:28: roles.pr-review.tools: a review role cannot write: leave bash out"
    ]
    assert planned("roles: {pr-review: {tools: null}}").roles["pr-review"].tools == ("view",)
    assert planned("", pr_review="Review.").roles["pr-review"].tools == ("view",)


def test_a_role_of_ones_own_may_review() -> None:
    own = planned("", style="---\nkind: review\n---\nLook at the style.").roles["style"]
    assert (own.kind, own.tools) == (RoleKind.REVIEW, ("view",))
    kinds = {name: role.kind for name, role in planned("").roles.items()}
    reviewers = {name for name, kind in kinds.items() if kind is RoleKind.REVIEW}
    assert reviewers == {"pr-review", "security-review"}


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (
            "roles: {pr-review: {kind: work}}",
            "1:27: roles.pr-review.kind: the built-in role pr-review is of kind review: leave it"
            " out",
        ),
        (
            "roles: {feat-dev: {kind: review}}",
            "1:26: roles.feat-dev.kind: the built-in role feat-dev is of kind work: leave it out",
        ),
        (
            "roles: {feat-dev: {kind: revue}}",
            '1:26: roles.feat-dev.kind: unknown kind "revue" (did you mean review?)',
        ),
        (
            "roles: {pr-review: {setup: [make]}}",
            "1:28: roles.pr-review.setup: a review role runs nothing, for what it reads may be a"
            " stranger's: leave it out",
        ),
        (
            "roles: {feat-dev: {may_label: [bug]}}",
            "1:31: roles.feat-dev.may_label: only a role of kind triage sets labels",
        ),
    ],
)
def test_a_role_has_nothing_that_its_kind_cannot_have(config: str, problem: str) -> None:
    assert lines(read(config)) == [f"config.yaml:{problem}"]


@pytest.mark.parametrize(
    ("event", "role", "works_on"),
    [
        ("issues.opened", "pr-review", "pull requests"),
        ("pull_request.synchronize", "pm", "issues"),
    ],
)
def test_an_event_starts_only_a_role_that_works_on_what_it_is_about(
    event: str, role: str, works_on: str
) -> None:
    reading = read(f"triggers: {{events: {{{event}: {role}}}}}")
    at = f"config.yaml:1:{21 + len(event) + 2}"
    assert lines(reading) == [
        f"{at}: triggers.events.{event}: {role} works on {works_on}, so this event never starts it"
    ]
    assert reading.plan is None


def test_null_leaves_a_setting_to_the_layer_below() -> None:
    plan = planned(
        "roles: {pm: {tools: null, model: 'openai:a'}}", pm="---\nmodel: null\n---\nPlan."
    )
    assert (plan.roles["pm"].tools, plan.roles["pm"].model) == (("view",), "openai:a")


def test_a_model_has_to_be_on_the_operators_list() -> None:
    operator = read_operator("models: ['openai:gpt-*']", "operator.yaml").config
    assert operator is not None
    files = {
        "config.yaml": "roles: {pm: {model: 'openai:gpt-5'}}",
        "agents/bug-fix.md": "---\nmodel: openai:o9\n---\nWork.",
    }
    reading = read_repository(files, operator)
    assert lines(reading) == [
        "agents/bug-fix.md:2:8: model: openai:o9 is not on the operator's list "
        "(allowed: openai:gpt-*)"
    ]
    assert reading.plan is not None
    assert reading.plan.roles["pm"].model == "openai:gpt-5"


def test_the_planning_model_has_to_be_on_the_operators_list_too() -> None:
    operator = read_operator("models: ['openai:*']", "operator.yaml").config
    assert operator is not None
    config = (
        "roles:\n  pm: {planning_model: 'openai:big', model: 'openai:small'}\n"
        "  bug-fix: {planning_model: 'anthropic:big'}\n"
    )
    reading = read_repository({"config.yaml": config}, operator)
    assert lines(reading) == [
        "config.yaml:3:29: roles.bug-fix.planning_model: anthropic:big is not on the operator's "
        "list (allowed: openai:*)"
    ]
    assert reading.plan is not None
    pm = reading.plan.roles["pm"]
    assert (pm.planning_model, pm.model) == ("openai:big", "openai:small")
    assert reading.plan.roles["feat-dev"].planning_model is None


def test_the_script_that_prepares_workspaces_is_known_as_it_was_written() -> None:
    script = "pip install -r requirements.txt\n# grüße\n"
    for content in (script, script.encode()):
        plan = read_repository({"setup.sh": content}, OperatorConfig()).plan
        assert plan is not None and plan.setup_script == script
    without = read_repository({"agents/setup.sh": script}, OperatorConfig()).plan
    assert without is not None and without.setup_script == ""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"#" * 100_000, ""),
        (b"#" * 100_001, "larger than 100 kB, or no text"),
        (b"true\0", "larger than 100 kB, or no text"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_script_that_no_shell_can_be_given_is_a_mistake(content: bytes, why: str) -> None:
    files: dict[str, str | bytes] = {"setup.sh": content, "config.yaml": "trust: {x: 1}"}
    reading = read_repository(files, OperatorConfig())
    assert [line for line in lines(reading) if "setup.sh" in line] == (
        [f"setup.sh:1:1: {why}"] if why else []
    )
    alone = read_repository({"setup.sh": content}, OperatorConfig())
    assert (alone.plan is None) == bool(why)


def test_config_yml_is_said_to_be_misnamed() -> None:
    reading = read_repository({"config.yml": "enabled: false"}, OperatorConfig())
    assert lines(reading) == [
        "config.yaml:1:1: there is a config.yml: only config.yaml is read, rename it"
    ]
    assert reading.plan is None


@pytest.mark.parametrize(
    "agent",
    [
        "---\nmax_turns: 3\n---\nWork.",
        "\n \n---\nmax_turns: 3\n---\nWork.",
        "---\rmax_turns: 3\r---\rWork.\r",
        "\r\n---\r\nmax_turns: 3\r\n---\r\nWork.\r\n",
        "\ufeff---\nmax_turns: 3\n---\nWork.",
    ],
)
def test_blank_lines_and_any_line_ends_lose_no_limit(agent: str) -> None:
    role = planned("", scout=agent).roles["scout"]
    assert (role.limits.max_turns, role.prompt) == (3, "Work.")


@pytest.mark.parametrize(
    "prompt",
    [
        "Work.",
        "# Scout\n\nLook.\n\n---\n\nSay what you saw.",
        "Look\n---\nand see.\n\n---\nmax_turns: 3 is a limit.",
        "<!-- ours -->\n# Scout",
        "You set limits:\n```yaml\n---\nmax_turns: 3\n---\n```",
        "```\nmax_turns: 3\n```\nis a limit.",
        "* * *\nLook.",
        "max_turns is a limit.",
    ],
)
def test_a_prompt_without_frontmatter_is_taken_as_it_is(prompt: str) -> None:
    assert planned("", scout=prompt).roles["scout"].prompt == prompt


def test_the_default_agent_file_may_be_named_and_need_not_be_there() -> None:
    """EXAMPLES: "default: agents/<role>.md, else the built-in definition"."""
    plan = planned("roles: {bug-fix: {agent: agents/bug-fix.md}}")
    assert plan.roles["bug-fix"].prompt == built_in_roles()["bug-fix"].prompt
    assert lines(read("roles: {bug-fix: {agent: agents/fix.md}}")) == [
        "config.yaml:1:26: roles.bug-fix.agent: there is no file .squadron/agents/fix.md"
    ]
    assert lines(read("roles: {scout: {agent: agents/scout.md}}")) == [
        "config.yaml:1:24: roles.scout.agent: there is no file .squadron/agents/scout.md"
    ]


def test_a_budget_may_name_every_role_that_there_is() -> None:
    budgets = "budgets:\n" + "".join(
        f"- {{scope: role, name: {role}, window: day, max_cost_usd: 1}}\n"
        for role in (*BUILT_IN_ROLES, "scout", "broken")
    )
    reading = read(budgets, scout="Look.", broken="")
    assert [line.split(":")[0] for line in lines(reading)] == ["agents/broken.md"]
