-- One row per run, scope, group, annotator and ask: who speaks where, and how many wordings have spoken up to here.
with intra as {{ of_this_build('int_annotators_intra') }},

inter as {{ of_this_build('int_annotators_inter') }},

inter_model as {{ of_this_build('int_annotators_inter_model') }},

formats as {{ of_this_build('int_answer_formats') }},

same_meaning as {{ of_this_build('int_wordings_ruled', where='asks_the_same') }},

planned as (
    select * from intra
    union all
    select * from inter
    union all
    select * from inter_model
    union all
    select inter.* replace ('inter_same_meaning' as scope)
    from inter
    semi join same_meaning using (audit_run_id, prompt_variant_id)
),

-- who never answered is no annotator: the k-th of the figures is the k-th that spoke
asks as (
    select planned.*
    from planned
    inner join formats using (audit_run_id, model_id, prompt_variant_id, repetition)
    where formats.n_landed > formats.n_error
),

annotators as (
    select
        audit_run_id,
        scope,
        group_model_id,
        task_id,
        strategy,
        group_temperature,
        annotator,
        any_value(wording) as wording
    from asks
    group by all
),

seen as (
    select
        * exclude (wording),
        1 + (wording is distinct from lag(wording) over one_group)::integer as n_wordings_adjacent,
        row_number() over (one_group_and_wording order by annotator) = 1 as is_first_of_wording
    from annotators
    window
        one_group as (
            partition by audit_run_id, scope, group_model_id, task_id, strategy, group_temperature
            order by annotator
        ),
        one_group_and_wording as (
            partition by audit_run_id, scope, group_model_id, task_id, strategy, group_temperature, wording
        )
),

counted as (
    select
        * exclude (is_first_of_wording),
        sum(is_first_of_wording::integer) over one_group::integer as n_wordings_cumulative,
        row_number() over one_group::integer as n_annotators
    from seen
    window one_group as (
        partition by audit_run_id, scope, group_model_id, task_id, strategy, group_temperature
        order by annotator
    )
),

final as (
    select
        asks.*,
        counted.n_annotators,
        counted.n_wordings_adjacent,
        counted.n_wordings_cumulative
    from asks
    inner join counted
        on
            asks.audit_run_id = counted.audit_run_id
            and asks.scope = counted.scope
            and asks.group_model_id is not distinct from counted.group_model_id
            and asks.task_id = counted.task_id
            and asks.strategy = counted.strategy
            and asks.group_temperature is not distinct from counted.group_temperature
            and asks.annotator = counted.annotator
)

select * from final
