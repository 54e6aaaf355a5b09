"""Users without a name and a number: an address and a UUID are all they have."""

import uuid

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class Accounts(BaseUserManager):
    def create_superuser(self, email, password=None):
        return self.create(email=email, is_superuser=True)

    def get_by_natural_key(self, email):
        return self.get(email=email)


class Account(AbstractBaseUser, PermissionsMixin):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=True)
    is_active = models.BooleanField(default=True)

    objects = Accounts()
    USERNAME_FIELD = "email"
