"""The short fits whose results are kept in tests/golden, as a table; `golden_case` says what a case is."""

from golden_composite_cases import product_cases, search_cases, sequence_cases, table_cases
from golden_objective_cases import dual_cases, objective_cases
from golden_online_cases import online_cases, separable_cases, shared_cases
from golden_other_cases import kernel_cases, network_cases, tree_cases
from golden_source_cases import file_cases, shard_cases, trace_cases

CASES = [
    case
    for make in (
        online_cases,
        separable_cases,
        shared_cases,
        objective_cases,
        dual_cases,
        kernel_cases,
        tree_cases,
        network_cases,
        file_cases,
        shard_cases,
        trace_cases,
        table_cases,
        sequence_cases,
        product_cases,
        search_cases,
    )
    for case in make()
]
