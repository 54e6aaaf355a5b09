from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig


class HouseSite(AdminSite):
    """Stands in the place of Django's own, as `admin.site`."""

    site_header = "The house"
    index_title = "What there is"


class HouseAdminConfig(AdminConfig):
    default_site = "house.admin_app.HouseSite"
