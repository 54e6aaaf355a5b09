// Parts of a page are put in the place of older ones by their ids; whatever has the focus keeps it.

export async function fetchPage(url, options = {}) {
  const answer = await fetch(url, { credentials: "same-origin", headers: { "X-Requested-With": "XMLHttpRequest" }, ...options });
  // A session that has ended answers with the page to log in at.
  if (!answer.ok || answer.redirected) throw new Error(`answered ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

export function swap(region, page) {
  const fresh = page.getElementById(region.id);
  if (!fresh || fresh.isEqualNode(region)) return;
  const focused = region.contains(document.activeElement) ? placeOf(document.activeElement) : null;
  const unfolded = [...region.querySelectorAll("details[open]")].map(placeOf);
  region.replaceWith(document.adoptNode(fresh));
  for (const place of unfolded) {
    const details = at(fresh, place);
    if (details && details.tagName === "DETAILS") details.open = true;
  }
  if (focused) at(fresh, focused)?.focus({ preventScroll: true });
}

// An element is found again by what it says or where it leads.
function placeOf(element) {
  const name = element.getAttribute("href") || element.id || element.textContent.slice(0, 80);
  return { tag: element.tagName, name };
}

function at(root, place) {
  return [...root.querySelectorAll(place.tag)].find((element) => placeOf(element).name === place.name);
}
