"""A client of HELM that answers without a model: right, wrong where five divides, and in prose where seven does."""

import re

from helm.clients.simple_client import SimpleClient


class MockClient(SimpleClient):
    def invoke_model(self, raw_request):
        prompt = raw_request["prompt"]
        number = int(re.findall(r"\d+", prompt)[-1])
        is_even = (number % 2 == 0) != (number % 5 == 0)
        names = ("A", "B") if "single letter" in prompt else ("Even", "Odd")
        text = " I am not sure" if number % 7 == 0 else " " + names[0 if is_even else 1]
        return {"completions": [text] * raw_request["num_completions"]}
