"""Configuration of the site that `make docs` builds with Sphinx from what sources.py writes."""

project = "promptaudit"
html_title = "promptaudit"
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3  # as git hosts name them, so that a link works there and here
nitpicky = True
smartquotes = False  # they would make a dash of an option's two hyphens
suppress_warnings = ["misc.highlighting_failure"]  # the SQL of dbt models has Jinja in it

html_theme = "furo"
html_use_index = False
html_show_search_summary = False  # a browser lets no page read another from the disk
html_permalinks_icon = "#"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"top_of_page_buttons": []}
