"""The sweep of online learners: what one visit does to each kind of them."""

from __future__ import annotations

from rosenblatt.compiling import verb
from rosenblatt.learn.online.first_order import (
    JointPlanes,
    OnePlane,
    SeparatePlanes,
    visit_multinomial,
    visit_one,
    visit_separate,
)
from rosenblatt.learn.online.second_order import AROWPlane, Diagonal, Full, visit_arow_plane, visit_second_order
from rosenblatt.learn.sweep import sweep_with

# Inlined, because a call would cost more than a short row.
visit = verb(
    {
        OnePlane: visit_one,
        JointPlanes: visit_multinomial,
        SeparatePlanes: visit_separate,
        AROWPlane: visit_arow_plane,
        Diagonal: visit_second_order,
        Full: visit_second_order,
    },
    inline="always",
)
sweep = sweep_with(visit)
