import json, http.server, sys

A = {
    "moons": "number",
    "Eiffel": "location",
    "Hamlet": "person",
    "marathon": "number",
    "Louvre": "location",
    "Guernica": "location",
    "bones": "number",
    "first": "person",
}
B = {
    "moons": "number",
    "Eiffel": "place",
    "Hamlet": "person",
    "marathon": "number",
    "Louvre": "It is a location",
    "Guernica": "person",
    "bones": "person",
    "first": "person",
}


class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        p = body["prompt"]
        ps = p if isinstance(p, list) else [p]
        out = []
        for i, q in enumerate(ps):
            t = A if q.startswith("Classify") else B
            out.append({"index": i, "text": next(v for k, v in t.items() if k in q), "finish_reason": "stop"})
        b = json.dumps({"id": "x", "object": "text_completion", "model": body["model"], "choices": out}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(b)))
        self.end_headers()
        self.wfile.write(b)

    def log_message(self, *a):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", 8765), H).serve_forever()
