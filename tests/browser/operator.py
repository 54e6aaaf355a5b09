"""Somebody who operates the shop: finds every page by the words on it, from the first page of the admin on."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.visitors import Visitor

RUN_STATE = "#run-head .jobs-run-state"


class Operator:
    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.page: Page = visitor.page

    def enter(self, entry: str) -> Page:
        """From the front page of the admin, by its menu."""
        self.visitor.go("/admin/")
        self.page.locator("#content").get_by_role("link", name=entry, exact=True).click()
        return self.page

    def follow(self, link: str) -> Page:
        """A link within the page."""
        self.page.locator("#jobs").get_by_role("link", name=link, exact=True).first.click()
        return self.page

    def row(self, text: str) -> Locator:
        return self.page.get_by_role("row").filter(has_text=text)

    def confirm(self, reason: str) -> Page:
        """Say why, and do what the page asks about."""
        self.page.get_by_label("Reason").fill(reason)
        self.page.locator("form.jobs-form button.jobs-button-strong").click()
        expect(self.page.locator(".messagelist")).to_be_visible()
        return self.page

    def trigger(self, job_type: str, **payload: str) -> str:
        """By the form of the job type; gives the address of the new run."""
        self.enter("Job types")
        self.follow(job_type)
        self.follow("Trigger")
        self.fill_in(**payload)
        self.confirm("to see it run")
        expect(self.page.locator(RUN_STATE)).to_be_visible()
        return self.page.url

    def fill_in(self, **fields: str) -> None:
        self.page.wait_for_load_state("load")  # what is typed before the scripts are there, they do not hear
        for name, value in fields.items():
            field = self.page.locator(f"form.jobs-form [name$='{name}']").first
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)

    def expect_state(self, state: str) -> None:
        """The page shows it by itself."""
        expect(self.page.locator(RUN_STATE)).to_contain_text(state)

    def expect_event(self, action: str, reason: str) -> None:
        """It is in the control events, with who and why."""
        self.enter("Control events")
        row = self.row(reason).first
        expect(row).to_contain_text(action)
        expect(row).to_contain_text("ada")
