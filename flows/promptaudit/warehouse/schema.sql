-- The contract between flows (which write) and dbt (which reads). Append-only, but for audit_runs, which is closed once.
-- Frames and keys are read from here (raw_tables.py): what follows "one row per" is a table's key.
-- Times are UTC. `version` grows by one with every change after a release; schema.py leads to it from earlier ones.
create schema if not exists raw;

create table if not exists raw.schema_versions (
    version integer not null,
    applied_at timestamp not null
);

-- one row per audit_run_id
create table if not exists raw.audit_runs (
    audit_run_id varchar not null,
    audit_id varchar not null,
    origin varchar not null, -- run, import, trial
    state varchar not null, -- running, complete, failed
    started_at timestamp not null,
    finished_at timestamp,
    fingerprint varchar not null, -- of every card the run used
    plan_fingerprint varchar not null, -- of what decides its requests, and of its samples
    card varchar not null, -- JSON
    format_limits varchar not null, -- JSON
    seed bigint not null,
    n_resamples integer not null,
    code_version varchar not null,
    code_commit varchar,
    is_code_dirty boolean,
    library_versions varchar not null, -- JSON
    source varchar, -- JSON, import: the files with their sha256, and the options; trial: base run, samples, what is tried
    manifest varchar, -- JSON: hashes of the cards, data, code and dbt project it opened with
    flow_run_id varchar, -- the flow run of Prefect that opened it; null where a command did
    run_index bigint -- from 1, in the order in which runs landed, whatever the clock said; given on landing
);

-- one row per audit_run_id, model_id
create table if not exists raw.models (
    audit_run_id varchar not null,
    model_id varchar not null,
    engine varchar not null,
    model varchar not null,
    card varchar not null,
    fingerprint varchar not null,
    input_usd_per_mtok double,
    output_usd_per_mtok double
);

-- one row per audit_run_id, task_id, recorded_at
create table if not exists raw.tasks (
    audit_run_id varchar not null,
    task_id varchar not null,
    kind varchar not null,
    level varchar not null,
    instruction varchar,
    output_format varchar,
    reader varchar not null, -- JSON
    refusal_pattern varchar,
    scoring_methods varchar, -- JSON list: the rules that score its completions
    token_f1_threshold double,
    card varchar not null,
    fingerprint varchar not null,
    recorded_at timestamp -- of a card that changed in what asks nothing the newest row counts
);

-- one row per audit_run_id, task_id, label
create table if not exists raw.task_labels (
    audit_run_id varchar not null,
    task_id varchar not null,
    label varchar not null,
    label_index integer not null, -- from 0, in the card's order
    description varchar
);

-- one row per audit_run_id, task_id, sample_id
create table if not exists raw.samples (
    audit_run_id varchar not null,
    task_id varchar not null,
    sample_id varchar not null,
    sample_index integer not null,
    input varchar,
    gold_label varchar,
    options varchar, -- JSON list, multiple_choice
    reference_answers varchar, -- JSON list, open_ended; of extraction one, the JSON object of the gold values
    fields varchar, -- JSON: the other columns a prompt used
    cluster varchar, -- what it has in common with others, a document or a user
    is_critical boolean
);

-- one row per audit_run_id, prompt_variant_id
create table if not exists raw.prompt_variants (
    audit_run_id varchar not null,
    prompt_variant_id varchar not null,
    task_id varchar not null,
    strategy varchar not null,
    paraphrase_temperature double,
    variant_index integer not null, -- of a refused proposal: its place among them, counted down from -1
    is_original boolean not null,
    is_edited boolean not null, -- a person changed it before the run
    instruction varchar,
    output_format varchar,
    prompt varchar, -- JSON list of messages, the data's placeholders left open
    answer_schema varchar, -- JSON schema the answer is held to: strategy structured
    template varchar, -- JSON: a whole prompt with its enumerators and examples, of multiple-choice and open tasks
    reader varchar, -- JSON, in place of the task's
    repetitions integer[] not null, -- the asks that are planned; empty for a refused proposal
    rephraser_id varchar,
    rephrasing_key varchar, -- hash of instruction and rephraser: later runs reuse what has the same
    refused_because varchar,
    model_ids varchar[], -- who is asked, the model that reworded it for itself first; null: every model
    variation varchar, -- in which respect it differs from the original: wording, format, ...; null: an import's
    setting varchar -- JSON: by kind of variation what it has in place of the original's; null: an import's
);

-- of variants that show the options in another order than the data
-- one row per audit_run_id, prompt_variant_id, sample_id
create table if not exists raw.option_orders (
    audit_run_id varchar not null,
    prompt_variant_id varchar not null,
    sample_id varchar not null,
    option_order integer[] not null -- for each place as shown the option's place in the data, from 0
);

-- one row per audit_run_id
create table if not exists raw.designs (
    audit_run_id varchar not null,
    twice double, -- share of the samples of a wording asked once that it is asked for again; null: none
    seed bigint not null -- of what is dealt
);

-- one row per audit_run_id, prompt_variant_id, repetition
create table if not exists raw.grid (
    audit_run_id varchar not null,
    prompt_variant_id varchar not null,
    repetition integer not null,
    sample_ids varchar[] not null -- the samples that it is asked for; a repetition without a row is asked for every sample
);

-- one row per audit_run_id, prediction_id
create table if not exists raw.predictions (
    audit_run_id varchar not null,
    prediction_id varchar not null,
    model_id varchar not null,
    task_id varchar not null,
    prompt_variant_id varchar not null,
    sample_id varchar not null,
    repetition integer not null,
    completion varchar, -- verbatim
    is_completion_escaped boolean not null, -- held lone surrogates, written as \udXXX
    reasoning varchar,
    finish_reason varchar,
    is_refused boolean not null, -- the provider's flag
    token_logprobs varchar, -- JSON
    option_loglikelihoods varchar, -- JSON list, in the options' order: nats, n_tokens, n_characters
    option_order integer[], -- where its options stood in another order than raw.option_orders has of its variant and sample
    prompt_tokens integer,
    completion_tokens integer,
    latency_ms double,
    n_attempts integer not null,
    cost_usd double,
    sampling varchar, -- JSON: parameters as sent
    served_model varchar,
    system_fingerprint varchar,
    request_id varchar,
    request_sha256 varchar not null,
    error varchar,
    landed_at timestamp not null
);

-- one row per audit_run_id, prediction_id, landed_at
create table if not exists raw.failed_predictions (
    audit_run_id varchar not null,
    prediction_id varchar not null, -- its row of raw.predictions, as it was when its cell was asked again
    model_id varchar not null,
    task_id varchar not null,
    prompt_variant_id varchar not null,
    sample_id varchar not null,
    repetition integer not null,
    completion varchar,
    is_completion_escaped boolean not null,
    reasoning varchar,
    finish_reason varchar,
    is_refused boolean not null,
    token_logprobs varchar,
    option_loglikelihoods varchar,
    option_order integer[],
    prompt_tokens integer,
    completion_tokens integer,
    latency_ms double,
    n_attempts integer not null,
    cost_usd double,
    sampling varchar,
    served_model varchar,
    system_fingerprint varchar,
    request_id varchar,
    request_sha256 varchar not null,
    error varchar,
    landed_at timestamp not null
);

-- one row per audit_run_id, prediction_id, attempted_at
create table if not exists raw.attempts (
    audit_run_id varchar not null,
    prediction_id varchar not null, -- or a rephrasing's or a verdict's id
    attempted_at timestamp not null,
    http_status integer,
    error varchar not null,
    waited_ms double not null
);

-- one row per audit_run_id, rephrasing_id
create table if not exists raw.rephrasings (
    audit_run_id varchar not null,
    rephrasing_id varchar not null,
    task_id varchar not null,
    model_id varchar not null,
    paraphrase_temperature double,
    prompt varchar not null, -- JSON list of messages
    completion varchar, -- verbatim
    is_completion_escaped boolean not null,
    prompt_tokens integer,
    completion_tokens integer,
    latency_ms double,
    n_attempts integer not null,
    cost_usd double,
    sampling varchar, -- JSON: parameters as sent
    served_model varchar,
    system_fingerprint varchar,
    request_id varchar,
    error varchar,
    landed_at timestamp not null
);

-- one row per audit_run_id, model_id, opened_at
create table if not exists raw.engines (
    audit_run_id varchar not null,
    model_id varchar not null, -- or judge:<id>, for the model of a judge
    opened_at timestamp not null,
    engine varchar not null,
    endpoint varchar not null,
    engine_version varchar,
    served_model varchar,
    context_length integer, -- tokens of prompt and completion
    weights_sha256 varchar, -- of the model's file, where this machine has it
    chat_template varchar
);

-- one row per audit_run_id, batch_id, state
create table if not exists raw.batches (
    audit_run_id varchar not null,
    model_id varchar not null,
    batch_id varchar not null, -- the provider's
    state varchar not null, -- submitted, then what the provider says, then collected
    recorded_at timestamp not null,
    n_requests integer not null,
    error varchar
);

-- one row per audit_run_id, judge_id, recorded_at
create table if not exists raw.judges (
    audit_run_id varchar not null,
    judge_id varchar not null,
    judge_key varchar not null, -- hash of what decides its verdicts; verdicts of the newest count
    model_id varchar, -- NULL for a panel
    panel varchar, -- JSON list of judge ids
    repetitions integer not null,
    max_asks integer not null,
    card varchar not null, -- JSON
    model_card varchar, -- JSON
    recorded_at timestamp not null
);

-- one row per audit_run_id, control_id
create table if not exists raw.judge_controls (
    audit_run_id varchar not null,
    control_id varchar not null,
    task_id varchar not null,
    sample_id varchar not null,
    kind varchar not null, -- right, wrong, blank, injected; anchors: right_in_words, wrong_in_words, ruled
    completion varchar not null,
    is_match boolean not null -- the verdict that is right
);

-- one row per audit_run_id, verdict_id
create table if not exists raw.verdicts (
    audit_run_id varchar not null,
    verdict_id varchar not null,
    prediction_id varchar, -- the first of those that say the same to the same question, all of which it holds for
    other_prediction_id varchar, -- of a judge of pairs: what it is held against; it stands first in repetition 2
    control_id varchar, -- or a control, whose verdict is known
    prompt_variant_id varchar, -- or a rewording, the first of those with its text: whether it asks the same as the original
    judge_id varchar not null, -- a judge card, or person:<name>
    judge_key varchar, -- of a judge card: which version of it
    repetition integer not null,
    ask integer not null, -- from 1; one more where a verdict could not be read
    is_settled boolean not null, -- no further ask follows
    is_match boolean, -- a person's
    reason varchar, -- a person's
    completion varchar, -- a judge's, verbatim
    is_completion_escaped boolean not null,
    finish_reason varchar,
    prompt_tokens integer,
    completion_tokens integer,
    latency_ms double,
    n_attempts integer not null,
    cost_usd double,
    sampling varchar, -- JSON: parameters as sent
    served_model varchar,
    system_fingerprint varchar,
    request_id varchar,
    request_sha256 varchar,
    source varchar, -- a person's: the file; of a ruling on a rewording that an earlier run made: which
    error varchar,
    landed_at timestamp not null
);

-- one row per audit_run_id, expectation, model_id, task_id, prompt_variant_id, checked_at
create table if not exists raw.format_checks (
    audit_run_id varchar not null,
    expectation varchar not null,
    model_id varchar, -- NULL: a check of all answers together
    task_id varchar,
    prompt_variant_id varchar,
    observed double,
    allowed double,
    is_success boolean not null,
    policy varchar not null,
    action varchar not null, -- none, failed, warned
    reason varchar,
    checked_at timestamp not null
);

-- one row per audit_run_id, validation_id
create table if not exists raw.format_validations (
    audit_run_id varchar not null,
    validation_id varchar not null, -- hash of its result and of the validation before it
    suite varchar not null, -- Great Expectations' name of what was expected
    is_success boolean not null,
    n_expectations integer not null,
    n_failed integer not null,
    result varchar not null, -- JSON, Great Expectations' own; at most 20 rows an expectation, by model and prompt variant
    gx_version varchar not null,
    checked_at timestamp not null
);

-- one row per audit_run_id, comparison_id
create table if not exists raw.comparisons (
    audit_run_id varchar not null,
    comparison_id varchar not null,
    base_run_id varchar not null,
    candidate_run_id varchar not null,
    base_model_id varchar, -- of two different models; null: every model against itself
    candidate_model_id varchar,
    base_strategy varchar, -- of two different strategies; null: every strategy against itself
    candidate_strategy varchar,
    min_effect double not null,
    max_cost_increase double, -- share; null: any
    max_latency_increase double, -- share; null: any
    is_trial boolean not null, -- thresholds given by hand: nobody but who asked reads it
    requested_at timestamp not null
);

-- one row per audit_run_id, audit_id, name, pinned_at
create table if not exists raw.baselines (
    audit_run_id varchar not null,
    audit_id varchar not null,
    name varchar not null, -- its newest row counts
    reason varchar,
    pinned_at timestamp not null,
    after_run_index bigint -- run_index of the run that had landed last; given on landing, here and below
);

-- one row per audit_run_id, model_id, task_id, strategy, accepted_at
create table if not exists raw.acceptances (
    audit_run_id varchar not null,
    audit_id varchar not null,
    model_id varchar, -- null for all, as are task and strategy
    task_id varchar,
    strategy varchar,
    is_false boolean not null, -- the alarm was one of chance: its nights are as normal as those before it
    reason varchar not null,
    accepted_at timestamp not null,
    after_run_index bigint
);

-- one row per audit_run_id, waiver_id
create table if not exists raw.waivers (
    audit_run_id varchar not null,
    waiver_id varchar not null,
    audit_id varchar not null,
    rule varchar not null,
    model_id varchar,
    task_id varchar,
    strategy varchar,
    measure varchar,
    reason varchar not null,
    valid_until timestamp not null,
    accepted_at timestamp not null,
    after_run_index bigint
);

-- one row per audit_run_id, night_id, step
create table if not exists raw.nights (
    audit_run_id varchar not null,
    night_id varchar not null,
    audit_id varchar not null,
    step varchar not null, -- begun, resumed <n> by a later start, finished
    outcome varchar, -- JSON; of a start its flow run
    recorded_at timestamp not null,
    scheduled_at timestamp -- for when a schedule began it, UTC; null where a person did
);

-- one row per audit_run_id, alarm_id, event
create table if not exists raw.alarms (
    audit_run_id varchar not null,
    alarm_id varchar not null,
    audit_id varchar not null,
    event varchar not null, -- raised, recovered
    kind varchar not null, -- regressed, changed, gate, unmeasured
    model_id varchar,
    task_id varchar,
    strategy varchar,
    measure varchar, -- or the rule of the gate
    base_run_id varchar,
    summary varchar not null,
    reason varchar,
    recorded_at timestamp not null
);

-- one row per audit_run_id, notification_id, state, recorded_at
create table if not exists raw.notifications (
    audit_run_id varchar not null,
    notification_id varchar not null,
    kind varchar not null,
    state varchar not null, -- intended, sent, failed
    n_targets integer not null,
    error varchar, -- without address or key
    recorded_at timestamp not null
);

-- one row per audit_run_id, not_derived_id
create table if not exists raw.not_derived (
    audit_run_id varchar not null,
    not_derived_id varchar not null,
    part varchar not null, -- of the project; a build of a part replaces what it said of the run before
    measure varchar not null, -- a function of SQL, or a figure that broke a rule
    comparison_id varchar,
    model_id varchar,
    task_id varchar,
    strategy varchar,
    relation varchar, -- where the figure was taken back; null where a function raised
    reason varchar not null,
    told_at timestamp not null
);

-- one row per audit_run_id, table_name, retired_at
create table if not exists raw.retirements (
    audit_run_id varchar not null,
    table_name varchar not null,
    path varchar not null, -- relative to the warehouse's folder
    n_rows bigint not null,
    sha256 varchar not null,
    retired_at timestamp not null
);

-- one row per audit_run_id, sha256, name
create table if not exists raw.reports (
    audit_run_id varchar not null,
    sha256 varchar not null, -- of a page as it was written
    name varchar not null, -- report.html, or reports/<run>.html
    written_at timestamp not null
);

-- one row per audit_run_id, publication_id
create table if not exists raw.publications (
    audit_run_id varchar not null, -- one of its runs; empty where it has none
    publication_id varchar not null,
    due varchar not null, -- JSON: what it seals and which pages it writes, so that the next start can complete it
    begun_at timestamp not null,
    ended_at timestamp, -- of its pages; a publication without pages ends when the published copy has its row
    files varchar -- JSON: the SHA-256 of each Parquet file that it writes, by its path among the marts
);

-- one row per audit_run_id, erasure_id, task_id, sample_id
create table if not exists raw.erasures (
    audit_run_id varchar not null,
    erasure_id varchar not null, -- one call's
    task_id varchar not null,
    sample_id varchar not null,
    n_rows varchar not null, -- JSON: rows of each table whose texts are gone
    reason varchar,
    erased_at timestamp not null
);

-- one row per audit_run_id, seal_index
create table if not exists raw.seals (
    audit_run_id varchar not null,
    seal_index bigint not null, -- from 1, over all runs of the warehouse
    reason varchar not null, -- complete, failed, landed, derived, erased
    manifest varchar not null, -- JSON: state, and of each table the rows and a hash of them
    previous_seal varchar, -- of the seal before it, whichever run's
    seal varchar not null, -- sha256 over all of the above
    sealed_at timestamp not null,
    signature varchar -- of the seal with an SSH key, as ssh-keygen writes it
);

-- one row per audit_run_id, seal_index, table_name
create table if not exists raw.row_digests (
    audit_run_id varchar not null,
    seal_index bigint not null,
    table_name varchar not null,
    digests blob not null -- 24 bytes a row the seal added: of the row, then of its key
);
