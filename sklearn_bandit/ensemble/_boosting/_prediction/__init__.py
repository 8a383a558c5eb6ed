"""What a fitted model predicts, by packed trees where they pay.

- ``packed_forms``: decides when trees are packed
- ``packed_booster``: the packed trees; ``tree_registers.h`` keeps one in registers
"""
