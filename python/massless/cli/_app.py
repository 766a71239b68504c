"""The group of commands, and how errors reach the user."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

import massless
from massless._config_check import InputError
from massless._errors import MasslessError

WRONG_INPUT = 2
INTERRUPTED = 130


class Commands(click.Group):
    """Errors go to stderr as one block; a traceback comes with `--debug` only."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        debug = "--debug" in given
        extra["standalone_mode"] = False
        # Read by transformers when it is imported: no hub, no advice between the tables.
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["TRANSFORMERS_VERBOSITY"] = "error"
        try:
            status = super().main(given, *rest, **extra)
        except click.exceptions.NoArgsIsHelpError as e:
            e.show()
            status = WRONG_INPUT
        except click.ClickException as e:
            click.echo(f"massless: error: {e.format_message()}", err=True)
            status = WRONG_INPUT
        except (KeyboardInterrupt, click.Abort):
            click.echo("massless: interrupted", err=True)
            status = INTERRUPTED
        except BrokenPipeError:
            # The reader of our output went away; nothing more can be said to it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = 0
        except Exception as e:
            if debug:
                traceback.print_exc()
            else:
                click.echo(_block(e), err=True)
            status = WRONG_INPUT
        sys.exit(status if isinstance(status, int) else 0)


def _block(error: Exception) -> str:
    if isinstance(error, (InputError, MasslessError)):
        return f"massless: error: {error}"
    text = " ".join(str(error).split()) or "no further text"
    text = text if len(text) <= 600 else text[:597] + "..."
    return (
        f"massless: error: {type(error).__name__}: {text}\n"
        "The model or its code raised this; --debug shows where."
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(massless.__version__, prog_name="massless")
def main() -> None:
    """Run PyTorch programs without their memory."""


def _register() -> None:
    from massless.cli import _doctor, _ops, _plan

    main.add_command(_plan.plan)
    main.add_command(_ops.ops)
    main.add_command(_doctor.doctor)


_register()
