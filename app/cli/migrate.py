"""`squadron migrate`: the database's tables, as this version of Squadron needs them."""

import os

import sqlalchemy as sa

from app.adapters.engine import migrate_queues
from app.adapters.store import schema
from app.adapters.store.database import make_engine
from app.adapters.store.schema import Standing, WrongSchema
from app.bootstrap import CannotServe, make_data_directory
from app.cli.failing import EXIT_CONFIGURATION, fail
from app.cli.terminal import say
from app.config.settings import SettingsError, load_local_settings
from app.ports import StoreUnavailable


def bring_up() -> None:
    """Make the tables, or bring them up, and say what was done."""
    try:
        settings = load_local_settings(os.environ)
        make_data_directory(settings.data_dir)
    except (SettingsError, CannotServe) as error:
        fail(str(error))
    engine = make_engine(settings.database_url.get_secret_value())
    try:
        before = schema.migrate(engine)
        migrate_queues(engine)
    except WrongSchema as error:
        fail(str(error), EXIT_CONFIGURATION)
    except (StoreUnavailable, sa.exc.SQLAlchemyError) as error:
        fail(f"the database cannot be migrated: {error}")
    finally:
        engine.dispose()
    match before.standing:
        case Standing.ABSENT:
            say(f"The tables were made, at revision {schema.newest_revision()}.")
        case Standing.OLDER:
            said = f"from revision {before.revision} to {schema.newest_revision()}"
            say(f"The tables were brought {said}.")
        case Standing.CURRENT | Standing.NEWER:
            say(f"Nothing was changed: the tables are at revision {before.revision}.")
