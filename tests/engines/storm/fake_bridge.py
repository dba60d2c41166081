"""A bridge that needs neither Java nor nimbus: answers by the verb alone."""

import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    verb, number = request.pop("do"), request.pop("id")
    if verb == "die":
        break
    if verb == "chatter":
        print("no JSON", flush=True)
        continue
    if verb == "sleep":
        continue
    if verb == "late":
        # The answer to the request before, and then its own.
        print(json.dumps({"id": number - 1, "ok": {"stale": True}}))
    if verb in ("unreachable", "unknown-topology", "refused", "internal"):
        answer = {"id": number, "error": {"kind": verb, "message": f"it is {verb}"}}
    else:
        answer = {"id": number, "ok": request}
    print(json.dumps(answer), flush=True)
