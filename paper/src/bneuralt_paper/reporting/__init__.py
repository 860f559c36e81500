"""The report: tables, statistics and figures of finished runs."""
