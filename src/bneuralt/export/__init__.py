"""Models as code for other places: C, ONNX, SQL, Python, JavaScript and PyTorch.

`targets` has the table of all of them. `translation` turns expressions into code by a table of
templates for each language.
"""
