// Asks the node that the page comes from.
async function request(path, params, method) {
  const query = new URLSearchParams(params).toString();
  const response = await fetch(query ? path + "?" + query : path, { method, cache: "no-store" });
  return { ok: response.ok, text: await response.text() };
}
