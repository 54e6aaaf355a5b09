"""The HTTP interface: remote workers, trigger, read and operate. A face of `remote`, `control` and `insights`, no more.

`path("jobs/", include("jobs_app.urls"))` puts it into a project; it needs the extra `api`.
"""
