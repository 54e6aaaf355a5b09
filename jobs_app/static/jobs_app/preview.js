// Forms that show what they would do: while somebody types, the form is sent as its Preview button sends it.
import { fetchPage, swap } from "./regions.js";
import { tellTimes } from "./times.js";

const PAUSE = 400; // milliseconds without a key

export function startPreviews() {
  for (const form of document.querySelectorAll("form[data-jobs-preview]")) {
    let timer = null;
    let turn = 0;
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const mine = ++turn;
        const data = new FormData(form);
        data.set("preview", "1");
        try {
          const page = await fetchPage(form.action || location.href, { method: "POST", body: data });
          const region = document.getElementById(form.dataset.jobsPreview);
          if (mine === turn && region) swap(region, page);
          tellTimes();
        } catch {
          // The button is still there.
        }
      }, PAUSE);
    });
  }
}
