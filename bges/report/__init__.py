"""Reports of runs: one self-contained HTML file (`write_report`), one picture of a run
(`run_picture`) or of the paths of several (`paths_picture`).

`material` reads what is there of run directories, `methods` groups runs, each `*_section` module draws one section from
what it finds, `page` puts them together, `watch` serves the page of a running run.
"""

from bges.report.page import report_page, write_report
from bges.report.paths import paths_picture
from bges.report.picture import draw_scene, run_picture

__all__ = ["draw_scene", "paths_picture", "report_page", "run_picture", "write_report"]
