"""Tables, plots and a page of a stored sweep; nothing is measured here."""

from stabbench.report.api import Report, report

__all__ = ["Report", "report"]
