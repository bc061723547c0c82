"""`squadron doctor`: is this installation safe and complete?"""

from app.cli.doctor.command import doctor

__all__ = ["doctor"]
