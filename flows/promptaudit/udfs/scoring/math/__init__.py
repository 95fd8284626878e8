"""The scoring method `math_equal`: whether a completion's final answer equals a reference answer as mathematics.

`equal` is the entry point. `final_answer` finds the answer in a completion; `number` reads plain numbers, and
`formula`, with the words of `vocabulary`, everything else; `pool` has two formulas compared by `worker`, in separate
processes, with `algebra`.
"""
