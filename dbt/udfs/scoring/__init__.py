"""The scoring methods: each decides whether a completion is right, in a module of its own without SQL or files.

Every score carries the version of its method. Scores of different versions are not compared; a rebuild makes the old ones anew.
"""

from promptaudit.udfs.readers import option_letter
from promptaudit.udfs.scoring import option_loglikelihood, token_f1, verdict

VERSIONS: dict[str, int] = {
    "label_match": 1,  # equal to the gold label after the task's reader, `promptaudit.udfs.readers.reading`
    "option_letter": option_letter.VERSION,
    "option_loglikelihood": option_loglikelihood.VERSION,
    "option_loglikelihood_per_token": option_loglikelihood.VERSION,
    "option_loglikelihood_per_character": option_loglikelihood.VERSION,
    "token_f1": token_f1.VERSION,
    "math_equal": 1,  # of `promptaudit.udfs.scoring.math.equal`, which is imported where it is used
    "math_boxed": 1,  # of the same
    **dict.fromkeys(("exact", "contains", "regex", "number"), 1),  # of `promptaudit.udfs.scoring.plain_rules`
    "field": 1,  # of `promptaudit.udfs.scoring.fields`: `field:<name>`
    "all_fields": 1,  # of the same
    "judge": verdict.VERSION,
    "people": 1,  # the majority of the persons who ruled
}
"""The scoring methods and the version of each; `judge:<id>` has the version of reading a judge's verdict."""
