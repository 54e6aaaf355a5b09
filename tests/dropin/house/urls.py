from django.apps import apps
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.urls import include, path

ops = AdminSite(name="ops")
ours = []

if apps.is_installed("jobs_app"):  # a project would remove these lines with the app
    import jobs_app.admin

    jobs_app.admin.register(ops)
    ours = [path("jobs/", include("jobs_app.urls"))]

urlpatterns = [path("admin/", admin.site.urls), path("ops/", ops.urls), *ours]
