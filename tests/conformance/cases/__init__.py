"""Random pipelines: data, trees, their text, a judge, and how failing cases are made smaller."""
