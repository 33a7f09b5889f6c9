-- The tables of invariants.sql narrowed to what changed of late: these stand before the same queries in one statement, where
-- their names come first. So there is no second copy of the promise, and nothing old is read.
-- $1 from (time) and $2 its last id: where the page begins; $3 generations in a page; $4 keys that were violated at the last
-- check, looked at again until they are mended; $5 transactions from this time on; $6 entries and holds from which on an account is left
-- to doctor; $7 accounts that are summed up at most; $8 entries and holds of all of them together,
-- but for accounts that were violated at the last check.
WITH recent AS MATERIALIZED (
    SELECT id FROM (SELECT id FROM public.generation WHERE updated_at >= $1::timestamptz AND (updated_at, id) > ($1::timestamptz, $2::text)
        ORDER BY updated_at, id LIMIT $3::int) AS page
    UNION SELECT split_part(key, ':', 1) FROM unnest($4::text[]) AS key WHERE key LIKE 'gen\_%'
    UNION SELECT 'gen_' || split_part(substr(key, 5), '_', 1) FROM unnest($4::text[]) AS key WHERE key LIKE 'sub\_%'
    UNION SELECT generation_id FROM public.generation_input WHERE input_id = ANY ($4::text[])
    UNION (SELECT u.generation_id FROM public.stored_input i JOIN public.generation_input u ON u.input_id = i.id WHERE i.state = 'deleting' LIMIT 200)
), generation AS NOT MATERIALIZED (
    SELECT g.* FROM public.generation g WHERE g.id IN (SELECT id FROM recent)
), submission AS NOT MATERIALIZED (
    SELECT s.* FROM public.submission s WHERE s.generation_id IN (SELECT id FROM recent)
), recent_transaction AS MATERIALIZED (
    SELECT id FROM (SELECT id, created_at FROM public.ledger_transaction ORDER BY id DESC LIMIT 2000) AS newest WHERE created_at >= $5::timestamptz
    UNION SELECT t.id FROM public.ledger_transaction t WHERE t.generation_id IN (SELECT id FROM recent)
    UNION SELECT key::bigint FROM unnest($4::text[]) AS key WHERE key ~ '^\d{1,18}$'
), touched AS MATERIALIZED (
    SELECT id, min(turn) AS turn FROM (
        SELECT key AS id, 0 AS turn FROM unnest($4::text[]) AS key WHERE key LIKE 'acc\_%'
        UNION ALL SELECT g.account_id, 1 FROM public.generation g WHERE g.id IN (SELECT id FROM recent)
        UNION ALL SELECT e.account_id, 1 FROM public.ledger_entry e WHERE e.transaction_id IN (SELECT id FROM recent_transaction) AND e.account_id NOT LIKE 'sys\_%'
    ) AS named GROUP BY id ORDER BY 2, random() LIMIT $7::int
), counted AS MATERIALIZED (
    -- The sum of an account is as long as its history, so this is bounded; chance gives each its turn.
    SELECT t.id, t.turn, (SELECT count(*) FROM (SELECT 1 FROM public.ledger_entry e WHERE e.account_id = t.id ORDER BY e.transaction_id LIMIT $6::int) AS entries)
        + (SELECT count(*) FROM (SELECT 1 FROM public.hold h WHERE h.account_id = t.id AND h.state = 'held' LIMIT $6::int) AS holds) AS rows FROM touched t
), small AS MATERIALIZED (
    -- What was violated before is always summed up again: left out, it would seem mended.
    SELECT id FROM (SELECT id, turn, sum(rows) OVER (ORDER BY turn, random()) AS total FROM counted WHERE rows < $6::int) AS summed
    WHERE turn = 0 OR total <= $8::int
), transactions AS MATERIALIZED (
    SELECT id FROM recent_transaction UNION SELECT e.transaction_id FROM small CROSS JOIN LATERAL (
        SELECT transaction_id FROM public.ledger_entry WHERE account_id = small.id ORDER BY transaction_id LIMIT $6::int) AS e
), ledger_transaction AS NOT MATERIALIZED (
    SELECT t.* FROM public.ledger_transaction t WHERE t.id IN (SELECT id FROM transactions)
), ledger_entry AS NOT MATERIALIZED (
    SELECT e.* FROM public.ledger_entry e WHERE e.transaction_id IN (SELECT id FROM transactions)
), ledger_account AS NOT MATERIALIZED (
    SELECT a.* FROM public.ledger_account a WHERE a.id IN (SELECT id FROM small)
), held AS MATERIALIZED (
    SELECT id FROM recent UNION SELECT h.generation_id FROM public.hold h WHERE h.state = 'held' AND h.account_id IN (SELECT id FROM small)
), hold AS NOT MATERIALIZED (
    SELECT h.* FROM public.hold h WHERE h.generation_id IN (SELECT id FROM held)
), output AS NOT MATERIALIZED (
    SELECT o.* FROM public.output o WHERE o.generation_id IN (SELECT id FROM recent)
), generation_event AS NOT MATERIALIZED (
    SELECT e.* FROM public.generation_event e WHERE e.generation_id IN (SELECT id FROM recent)
), generation_input AS NOT MATERIALIZED (
    SELECT u.* FROM public.generation_input u WHERE u.generation_id IN (SELECT id FROM recent)
), late_success AS NOT MATERIALIZED (
    SELECT l.* FROM public.late_success l WHERE l.submission_id IN (SELECT id FROM submission)
), orphan_job AS NOT MATERIALIZED (
    SELECT o.* FROM public.orphan_job o WHERE (o.provider, o.credential, o.provider_job_id) IN (SELECT provider, credential, provider_job_id FROM submission)
), callback AS NOT MATERIALIZED (
    SELECT c.* FROM public.callback c WHERE c.submission_id IN (SELECT id FROM submission)
), webhook_event AS NOT MATERIALIZED (
    SELECT e.* FROM public.webhook_event e WHERE e.generation_id IN (SELECT id FROM recent)
), webhook_delivery AS NOT MATERIALIZED (
    SELECT d.* FROM public.webhook_delivery d WHERE d.event_id IN (SELECT id FROM webhook_event)
)
