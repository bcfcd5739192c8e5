// The data of a block: JSON that is compressed (gzip) and written in base64, so that a page stays below 2 MB.

import { gunzipSync, strFromU8 } from "fflate";

export function dataOf<T>(script: Element): T {
  const bytes = Uint8Array.from(atob(script.textContent!.trim()), (one) => one.charCodeAt(0));
  return JSON.parse(strFromU8(gunzipSync(bytes))) as T;
}
