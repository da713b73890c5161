"""What a run, or several, looked like: one HTML file without network (`write_report`), one picture (`run_picture`).

`material` reads what is there of run directories, `methods` groups runs, each `*_section` module draws one section from
what it finds, `page` puts them together, `watch` serves the page of a run that is going on.
"""
