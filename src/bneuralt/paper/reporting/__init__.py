"""The report: results beside the paper's, as tables, figures and one page."""
