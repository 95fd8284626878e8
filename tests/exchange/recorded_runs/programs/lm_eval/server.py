"""A server of completions on loopback that answers without a model: `server.py PORT`."""

import http.server
import json
import sys

PLAIN = {
    "moons": "number",
    "Eiffel": "location",
    "Hamlet": "person",
    "marathon": "number",
    "Louvre": "location",
    "Guernica": "location",
    "bones": "number",
    "first": "person",
}
POLITE = {
    "moons": "number",
    "Eiffel": "place",
    "Hamlet": "person",
    "marathon": "number",
    "Louvre": "It is a location",
    "Guernica": "person",
    "bones": "person",
    "first": "person",
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        choices = []
        for index, prompt in enumerate(prompts):
            answers = PLAIN if prompt.startswith("Classify") else POLITE
            text = next(answer for word, answer in answers.items() if word in prompt)
            choices.append({"index": index, "text": text, "finish_reason": "stop"})
        reply = {"id": "x", "object": "text_completion", "model": body["model"], "choices": choices}
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
