"""The report: tables, statistics and figures of finished runs beside the paper's results."""
