"""The keys of `.squadron/config.yaml`, of an agent file's frontmatter and of the operator's file.

Keys that a later version brings to life are documented already; a file may spell out their
default, and anything else is refused, because a key that is silently ignored is a trap.
"""

from typing import Annotated, ClassVar, Final

from pydantic import ConfigDict, Field

from app.config.budgetkeys import BudgetBlock, RepositoryBudgetBlock
from app.config.limitkeys import Ceilings, LimitKeys, RoleLimitKeys
from app.config.names import (
    MAX_PATH_CHARACTERS,
    AgentPath,
    BotLogin,
    BranchNaming,
    Command,
    EndpointUrl,
    EventName,
    HostName,
    Kind,
    Label,
    Login,
    Mention,
    ModelName,
    ModelWord,
    MountPath,
    PathPattern,
    PermissionName,
    ProviderName,
    RoleName,
    Runtime,
    SuiteCommand,
    Team,
    TestsWord,
    Tool,
    TriggerLabel,
    WebhookUrl,
)
from app.config.strict import Named, Several, Strict
from app.core.limits import LEAST_USD, MOST_USD
from app.core.rules.plan import (
    Adaptive,
    Alerts,
    EscalationRules,
    OnUnmeasurable,
    RepositoryPlan,
    RoleKind,
    SandboxMode,
    Tests,
)

_ALERTS = Alerts()
_ESCALATION = EscalationRules()
_MOST_USD_PER_MILLION = 1_000_000
MOST_TEAMS = 10
"""In `trust.teams`: each may take a question to GitHub."""


class RoleKeys(Strict):
    """What may be said about a role besides its limits; `null` leaves it to the layer below."""

    runtime: Runtime = "embedded"
    """What runs the agent."""
    model: ModelName | None = None
    """`provider:name`, on the operator's list; null: the operator's default."""
    planning_model: ModelName | None = None
    """`provider:name` of the first turn, on the operator's list; null: `model` plans too."""
    tools: Several[Tool] | None = None
    """The tools that the role may use; null: all. Review roles only read."""
    setup: Several[Command] = ()
    """Commands that prepare the workspace before the first turn."""
    verify: Several[Command] = ()
    """Commands that say whether work is sound, run on a clean checkout of it before it is handed
    over; none: those of the repository."""
    kind: Kind = RoleKind.WORK
    """`work`: on an issue, in a branch; `review`: on a pull request, reads only and posts a review;
    `triage`: on new issues, proposes roles and labels. Of a built-in role it is fixed."""
    may_label: Several[Label] = ()
    """Labels that a role of kind triage may set itself; others it only proposes."""
    tests: TestsWord = Tests.EXPECTED
    """`expected`: the check is green only if tests ran after the last edit and passed; `none`: the
    role changes no code, and its check needs no test run."""


class RoleBlock(RoleKeys):
    """`roles.<role>`."""

    agent: AgentPath | None = None
    """The agent file, inside `.squadron/`; null: `agents/<role>.md`, else the built-in role."""

    other_names: ClassVar = dict.fromkeys(
        RoleLimitKeys.model_fields, "it under circuit_breakers.roles.<role>, or in the agent file"
    )


class Frontmatter(RoleLimitKeys, RoleKeys):
    """The head of an agent file."""

    description: str = Field(default="", max_length=500)
    """What the role is for, in a sentence."""


class Triggers(Strict):
    """What starts an agent, besides the label `squadron:<role>`."""

    labels: Named[TriggerLabel, RoleName] = Field(default_factory=dict)
    """Label → role that it starts."""
    events: Named[EventName, RoleName] = Field(default_factory=dict)
    """Event → role that it starts."""


class Trust(Strict):
    """Who may start, wake and steer agents."""

    start: PermissionName = "write"
    """The least permission of the sender."""
    logins: Several[Login] = ()
    """Further people; who gets the login later is none of them."""
    bots: Several[BotLogin] = ()
    """Apps by their exact login; still checked, and who gets the login later is none of them."""
    teams: Several[Team] = Field(default=(), max_length=MOST_TEAMS)
    """Everybody in them, as `org/team`; the App needs to read the organization's members."""


class CircuitBreakers(Strict):
    """Limits that are enforced, whatever an agent says."""

    defaults: LimitKeys = LimitKeys()
    """For every role of this repository."""
    roles: Named[RoleName, RoleLimitKeys] = Field(default_factory=dict)
    """For one role each."""


class Escalation(Strict):
    """How a human is called when an agent was stopped."""

    labels: Several[Label] = _ESCALATION.labels
    """Labels of the needs-human issue."""
    assignees: Several[Login] = ()
    """Who is assigned to it."""
    mention: Several[Mention] = ()
    """`@user` or `@org/team`, in its text and where an agent waits for a person."""
    waiting_label: Label | None = _ESCALATION.waiting_label
    """Label of an issue while one of its agents waits for a person; `null`: none."""
    max_issue_depth: Annotated[int, Field(ge=0, le=100)] = _ESCALATION.max_issue_depth
    """How many agents may stand behind an issue that an agent opens; beyond, a human is asked."""
    max_issues_per_day: Annotated[int, Field(ge=0, le=1_000)] = _ESCALATION.max_issues_per_day
    """How many issues agents may open here within a day; beyond, a human is asked."""


class SuiteCommands(Strict):
    """What is a test run besides the runners that Squadron knows, and what is none."""

    add: Several[SuiteCommand] = ()
    """Commands that run tests."""
    exclude: Several[SuiteCommand] = ()
    """Commands that look like a test run and are none."""


_OPERATORS: Final = ("sandbox", "ceilings", "workers", "models", "pricing", "providers", "rate")
"""Keys of the operator's file that people look for in a repository's."""


class ConfigFile(Strict):
    """`.squadron/config.yaml`."""

    triggers: Triggers = Triggers()
    trust: Trust = Trust()
    circuit_breakers: CircuitBreakers = CircuitBreakers()
    roles: Named[RoleName, RoleBlock] = Field(default_factory=dict)
    """What each role is, besides its limits."""
    budgets: Several[RepositoryBudgetBlock] = ()
    """Shared money, inside this repository."""
    branch_naming: BranchNaming = RepositoryPlan().branch_naming
    """`{role}`, `{issue}` and `{slug}` (of the title); the first two have to be there."""
    escalation: Escalation = Escalation()
    test_commands: SuiteCommands = SuiteCommands()
    protected_paths: Several[PathPattern] = ()
    """Paths that agents may not change, as in `.gitignore`; besides `.squadron/`, `.github/` and
    `CODEOWNERS`."""
    co_author: bool = False
    """`true`: who started an agent is `Co-authored-by` in its commits."""
    verify: Several[Command] = ()
    """Commands that say whether work is sound, for roles without their own."""
    enabled: bool = True
    """`false`: nothing starts here."""

    other_names: ClassVar = {
        **dict.fromkeys(RoleLimitKeys.model_fields, "it under circuit_breakers.defaults"),
        **dict.fromkeys(RoleKeys.model_fields, "it under roles.<role>"),
        **dict.fromkeys(_OPERATORS, "it in the operator's file, which SQUADRON_CONFIG names"),
        "preset": "it under circuit_breakers.roles.<role>: a preset belongs to a role",
        "setup": "it under roles.<role>, or as a script in .squadron/setup.sh",
    }


class ModelPrice(Strict):
    """USD per million tokens."""

    input: float = Field(ge=0, le=_MOST_USD_PER_MILLION)
    """Tokens sent to the model."""
    output: float = Field(ge=0, le=_MOST_USD_PER_MILLION)
    """Tokens that the model answers."""
    cache_read: float | None = Field(default=None, ge=0, le=_MOST_USD_PER_MILLION)
    """Tokens read from the provider's cache; null: as input."""
    cache_write: float | None = Field(default=None, ge=0, le=_MOST_USD_PER_MILLION)
    """Tokens written to the provider's cache; null: as input."""


class Rate(Strict):
    """What one user may ask for, in all repositories together."""

    starts_per_user_per_hour: int = Field(default=100, ge=1, le=100_000)
    """Starts, commands and comments that reach an agent."""


class AlertKeys(Strict):
    """What the operator hears of."""

    cost_usd_per_hour: float = Field(default=_ALERTS.cost_usd_per_hour, ge=LEAST_USD, le=MOST_USD)
    """Spending more than this in an hour."""
    trips_per_hour: int = Field(default=_ALERTS.trips_per_hour, ge=1, le=100_000)
    """More trips than this in an hour."""
    webhook: WebhookUrl | None = None
    """An address that alerts are posted to: https, or http on this machine."""


class Workers(Strict):
    """How many agents work at once."""

    agents: int = Field(default=4, ge=1, le=64)
    """Agents that one worker runs at once."""
    per_repository: int | None = Field(default=None, ge=1, le=10_000)
    """Agents of one repository that all workers together run at once; null: as many as there is
    room for. Repositories take turns in any case."""
    per_role: Named[RoleName, Annotated[int, Field(ge=1, le=10_000)]] = Field(default_factory=dict)
    """Agents of a role that all workers together run at once, in all repositories."""


class Sandbox(Strict):
    """What keeps agents' processes apart from the machine."""

    mode: SandboxMode = "required"
    """`required`: no agent without it; `best_effort`: with it where there is one; `off`:
    without."""
    egress: Several[HostName] = ()
    """Hosts that setup commands may reach, by HTTP and HTTPS; `*.example.org` is all below
    `example.org`."""
    mounts: Several[MountPath] = ()
    """Paths of the machine that agents may read, tools and caches for example. A `bin` in one
    stands first in the `PATH` of agents. None below `/tmp` and `/agent`, in whose place each
    sandbox has its agent's own files."""


class ModelEndpoint(Strict):
    """How the models of one provider are asked. Something has to be said."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    base_url: EndpointUrl | None = None
    """An endpoint that is compatible with the provider's: OpenAI's ends in `/v1`, Anthropic's does
    not; null: the provider's own."""
    api_key_file: str | None = Field(default=None, min_length=1, max_length=MAX_PATH_CHARACTERS)
    """A file that holds the key alone, absolute or from the directory of this file; null: the
    endpoint wants none."""


class OperatorFile(Strict):
    """The file that `SQUADRON_CONFIG` names."""

    defaults: LimitKeys = LimitKeys()
    """Limits below those of every repository."""
    ceilings: Ceilings = Ceilings()
    models: Several[ModelWord] | None = None
    """Patterns of the models that roles may name; null: any."""
    pricing: Named[ModelWord, ModelPrice] = Field(default_factory=dict)
    """Prices that are not known, or not what is paid, by model."""
    on_unmeasurable: OnUnmeasurable = "warn"
    """When a model has no price; under a money budget or ceiling it is always stop."""
    budgets: Several[BudgetBlock] = ()
    """Shared money, in all repositories together."""
    rate: Rate = Rate()
    alerts: AlertKeys = AlertKeys()
    adaptive: Adaptive = "off"
    """What becomes of suggested limits: nothing, a pull request, or a small step by itself."""
    reconciliation_interval: int = Field(default=300, ge=1, le=86_400)
    """Seconds between two comparisons with GitHub."""
    max_starts_per_pass: int = Field(default=10, ge=1, le=1_000)
    """Agents that one comparison starts of which no webhook told; the rest wait for the next."""
    workers: Workers = Workers()
    worker_timeout: int = Field(default=60, ge=20, le=3_600)
    """Seconds after which others take over from a worker that was not heard of (PostgreSQL)."""
    database_wait: int = Field(default=600, ge=1, le=86_400)
    """Seconds for which a process that has lost its database waits for it (PostgreSQL); then it
    ends."""
    min_free_mib: int = Field(default=1_024, ge=0, le=1_048_576)
    """MiB of disk below which no agent begins to work; 0: that is not looked at."""
    artifact_mib_per_agent: int = Field(default=16, ge=1, le=1_024)
    """MiB that are kept of an agent for other machines, compressed: its conversation, and what it
    has not pushed."""
    pack_after_days: int = Field(default=30, ge=1, le=3_650)
    """Days after an agent's end after which its log takes less room; it is read as before."""
    sandbox: Sandbox = Sandbox()
    providers: Named[ProviderName, ModelEndpoint] = Field(default_factory=dict)
    """Where models of `openai` or `anthropic` are asked: for providers that roles name beside the
    one of `SQUADRON_MODEL`."""
