-- The promise of Darkroom as queries: each returns one row (a key) per violation, so none means that it holds.
-- `darkroom doctor` runs all of them as one statement, in one snapshot.

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
WHERE h.state = 'captured' AND g.plan ? 'creditsPerOutput' AND h.captured <> least(h.amount, greatest(1, (g.plan ->> 'creditsPerOutput')::bigint
    * (SELECT count(*) FROM output o WHERE o.generation_id = g.id AND o.state IN ('stored', 'deleting', 'deleted'))));

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
SELECT g.id FROM generation g WHERE g.completed_at IS NOT NULL
AND (SELECT count(*) FROM generation_event e WHERE e.generation_id = g.id AND e.type = 'terminal' AND e.seq = g.event_seq) <> 1;

-- invariant: a generation that has not ended has no terminal event
SELECT g.id FROM generation g JOIN generation_event e ON e.generation_id = g.id AND e.type = 'terminal' WHERE g.completed_at IS NULL;

-- invariant: event numbers have no gap
SELECT g.id FROM generation g LEFT JOIN generation_event e ON e.generation_id = g.id GROUP BY g.id, g.event_seq HAVING count(e.seq) <> g.event_seq OR max(e.seq) IS DISTINCT FROM g.event_seq;
