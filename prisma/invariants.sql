-- The promise of Darkroom as queries: each returns one row (a key) per violation, so none means that it holds.
-- `darkroom doctor` runs one after the other, all in one snapshot; the sweep runs them over what changed of late (recent.sql).
-- Written as joins of whole tables: a query for each row would take hours over a million.

-- invariant: each ledger transaction has entries that sum to zero
SELECT t.id FROM ledger_transaction t LEFT JOIN ledger_entry e ON e.transaction_id = t.id
GROUP BY t.id HAVING count(e.amount) < 2 OR sum(e.amount) <> 0;

-- invariant: the ledger sums to zero
SELECT 'ledger' FROM ledger_entry HAVING coalesce(sum(amount), 0) <> 0;

-- invariant: an account's balance equals its entries
SELECT a.id FROM ledger_account a LEFT JOIN (SELECT account_id, sum(amount) AS total FROM ledger_entry GROUP BY account_id) e ON e.account_id = a.id
WHERE a.kind = 'tenant' AND a.posted <> coalesce(e.total, 0);

-- invariant: an account's granted credits equal its grants
SELECT a.id FROM ledger_account a LEFT JOIN (SELECT e.account_id, sum(e.amount) AS total FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id
WHERE t.kind = 'grant' GROUP BY e.account_id) e ON e.account_id = a.id
WHERE a.kind = 'tenant' AND a.granted <> coalesce(e.total, 0);

-- invariant: available, held and spent are together what was granted
SELECT a.id FROM ledger_account a LEFT JOIN (SELECT e.account_id, -sum(e.amount) AS total FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id
WHERE t.kind IN ('capture', 'refund') GROUP BY e.account_id) s ON s.account_id = a.id
WHERE a.kind = 'tenant' AND (a.posted - a.held) + a.held + coalesce(s.total, 0) <> a.granted;

-- invariant: an account's held credits equal its open holds
SELECT a.id FROM ledger_account a LEFT JOIN (SELECT account_id, sum(amount) AS total FROM hold WHERE state = 'held' GROUP BY account_id) h ON h.account_id = a.id
WHERE a.kind = 'tenant' AND a.held <> coalesce(h.total, 0);

-- invariant: no account is below zero
SELECT id FROM ledger_account WHERE held < 0 OR (kind = 'tenant' AND posted - held < 0);

-- invariant: each generation has one hold of its price on its account
SELECT g.id FROM generation g LEFT JOIN hold h ON h.generation_id = g.id
WHERE h.generation_id IS NULL OR h.amount <> g.credits OR h.account_id <> g.account_id;

-- invariant: a captured hold has exactly one capture of its amount, and no other hold has one
SELECT h.generation_id FROM hold h LEFT JOIN ledger_transaction t ON t.generation_id = h.generation_id AND t.kind = 'capture'
LEFT JOIN ledger_entry e ON e.transaction_id = t.id AND e.account_id = h.account_id
GROUP BY h.generation_id, h.state, h.captured
HAVING count(t.id) <> CASE h.state WHEN 'captured' THEN 1 ELSE 0 END OR coalesce(sum(-e.amount), 0) <> h.captured;

-- invariant: refunds are what the hold says, and never more than what was captured
SELECT h.generation_id FROM hold h LEFT JOIN (SELECT t.generation_id, e.account_id, sum(e.amount) AS total FROM ledger_transaction t
    JOIN ledger_entry e ON e.transaction_id = t.id WHERE t.kind = 'refund' GROUP BY t.generation_id, e.account_id) r
ON r.generation_id = h.generation_id AND r.account_id = h.account_id
WHERE h.refunded <> coalesce(r.total, 0) OR h.refunded > h.captured;

-- invariant: one refund per generation and reason
SELECT generation_id || ':' || reason FROM ledger_transaction WHERE kind = 'refund' GROUP BY generation_id, reason HAVING count(*) > 1;

-- invariant: a capture is the price of one output by the outputs stored, within the hold
SELECT g.id FROM generation g JOIN hold h ON h.generation_id = g.id
LEFT JOIN (SELECT generation_id, count(*) AS stored FROM output WHERE state IN ('stored', 'deleting', 'deleted') GROUP BY generation_id) o ON o.generation_id = g.id
WHERE h.state = 'captured' AND g.plan ? 'creditsPerOutput'
AND h.captured <> least(h.amount, greatest(1, (g.plan ->> 'creditsPerOutput')::bigint * coalesce(o.stored, 0)));

-- invariant: a late success was not charged
SELECT l.submission_id FROM late_success l JOIN submission s ON s.id = l.submission_id JOIN hold h ON h.generation_id = l.generation_id
WHERE h.state = 'captured' AND s.state = 'accepted';

-- invariant: a terminal generation has no open hold
SELECT g.id FROM generation g JOIN hold h ON h.generation_id = g.id WHERE g.completed_at IS NOT NULL AND h.state = 'held';

-- invariant: a generation that has not ended keeps its hold
SELECT g.id FROM generation g JOIN hold h ON h.generation_id = g.id WHERE g.completed_at IS NULL AND h.state <> 'held';

-- invariant: succeeded if and only if captured
SELECT g.id FROM generation g JOIN hold h ON h.generation_id = g.id WHERE (g.state = 'succeeded') <> (h.state = 'captured');

-- invariant: failed, cancelled or expired if and only if released
SELECT g.id FROM generation g JOIN hold h ON h.generation_id = g.id WHERE (g.state IN ('failed', 'cancelled', 'expired')) <> (h.state = 'released');

-- invariant: stage waiting or storing means that a handle is present
SELECT g.id FROM generation g WHERE g.stage IN ('waiting', 'storing')
AND NOT EXISTS (SELECT 1 FROM submission s WHERE s.generation_id = g.id AND s.state = 'accepted' AND s.handle IS NOT NULL);

-- invariant: a live handle means that the stage is past submitting
SELECT g.id FROM generation g JOIN submission s ON s.generation_id = g.id AND s.state = 'accepted' WHERE g.stage IN ('queued', 'submitting');

-- invariant: at most one live submission per generation
SELECT generation_id FROM submission WHERE state IN ('prepared', 'sending', 'unknown', 'accepted') GROUP BY generation_id HAVING count(*) > 1;

-- invariant: an ended generation has no submission that is prepared or sending
SELECT s.id FROM submission s JOIN generation g ON g.id = s.generation_id WHERE s.state IN ('prepared', 'sending') AND g.completed_at IS NOT NULL;

-- invariant: at most one accepted job per submission
SELECT s.id FROM submission s WHERE s.handle IS NOT NULL AND s.handle ->> 'jobId' IS DISTINCT FROM s.provider_job_id
UNION ALL SELECT o.provider || '/' || o.provider_job_id FROM orphan_job o JOIN submission s
    ON s.provider = o.provider AND s.credential = o.credential AND s.provider_job_id = o.provider_job_id;

-- invariant: one provider job belongs to one submission
SELECT provider || '/' || provider_job_id FROM submission WHERE provider_job_id IS NOT NULL GROUP BY provider, credential, provider_job_id HAVING count(*) > 1;

-- invariant: no hold outlives its deadline or store time, except with an operator
SELECT g.id FROM generation g JOIN hold h ON h.generation_id = g.id
WHERE h.state = 'held' AND g.stage <> 'needs_operator' AND greatest(g.deadline_at, g.store_until) + interval '5 minutes' < now();

-- invariant: succeeded means that an output is stored
SELECT g.id FROM generation g WHERE g.state = 'succeeded'
AND NOT EXISTS (SELECT 1 FROM output o WHERE o.generation_id = g.id AND o.state IN ('stored', 'deleting', 'deleted'));

-- invariant: no output is still being stored after the end
SELECT o.generation_id FROM output o JOIN generation g ON g.id = o.generation_id WHERE g.completed_at IS NOT NULL AND o.state = 'storing';

-- invariant: a terminal generation has exactly one terminal event, its last
SELECT g.id FROM generation g LEFT JOIN generation_event e ON e.generation_id = g.id AND e.seq = g.event_seq AND e.type = 'terminal'
WHERE g.completed_at IS NOT NULL AND e.seq IS NULL;

-- invariant: a generation that has not ended has no terminal event
SELECT g.id FROM generation g JOIN generation_event e ON e.generation_id = g.id AND e.type = 'terminal' WHERE g.completed_at IS NULL;

-- invariant: event numbers have no gap
SELECT g.id FROM generation g LEFT JOIN (SELECT generation_id, count(*) AS events, max(seq) AS last FROM generation_event GROUP BY generation_id) e
ON e.generation_id = g.id
WHERE coalesce(e.events, 0) <> CASE WHEN g.events_pruned_at IS NULL THEN g.event_seq ELSE 1 END OR e.last IS DISTINCT FROM g.event_seq;

-- invariant: a success that is told as expired has no output left, and no other has none
SELECT g.id FROM generation g LEFT JOIN (SELECT DISTINCT generation_id FROM output WHERE state = 'stored') o ON o.generation_id = g.id
WHERE g.state = 'succeeded' AND (g.delivery = 'expired') = (o.generation_id IS NOT NULL);

-- invariant: an ended generation with a callback_url has told it, or will
SELECT g.id FROM generation g WHERE g.callback_url IS NOT NULL AND g.completed_at > now() - interval '20 days'
AND NOT EXISTS (SELECT 1 FROM webhook_event e JOIN webhook_delivery d ON d.event_id = e.id AND d.endpoint_id IS NULL
    WHERE e.generation_id = g.id AND e.type = 'generation.' || g.state);

-- invariant: a delivery that was never made waits, failed, is held or was cancelled
SELECT d.id FROM webhook_delivery d WHERE d.state = 'delivered' AND d.attempts = 0;

-- invariant: an erased generation keeps nothing of what was asked for
SELECT g.id FROM generation g WHERE g.erased_at IS NOT NULL AND (g.input <> '{}' OR g.response_body::jsonb -> 'input' <> '{}'
    OR EXISTS (SELECT 1 FROM generation_input u WHERE u.generation_id = g.id)
    OR EXISTS (SELECT 1 FROM submission s WHERE s.generation_id = g.id AND (s.request ->> 'body' <> ''
        OR EXISTS (SELECT 1 FROM callback c WHERE c.submission_id = s.id AND c.body <> ''))));

-- invariant: an input that a running generation uses is there
SELECT u.input_id FROM generation_input u JOIN generation g ON g.id = u.generation_id JOIN stored_input i ON i.id = u.input_id
WHERE g.completed_at IS NULL AND i.state <> 'stored';
