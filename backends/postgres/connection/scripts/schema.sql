-- SPDX-License-Identifier: Apache-2.0
-- What `dlock setup` makes, in one transaction. lib/rows/rows.h says what it is for.

-- Nobody's collation or character set: two names are never one. Half of a page is left for the next versions of its
-- rows, which then need no new entries in the index.
CREATE TABLE IF NOT EXISTS dlock_rows (
  space text COLLATE "C" NOT NULL,
  name bytea NOT NULL,
  id bytea NOT NULL,
  version bigint NOT NULL,
  text bytea NOT NULL,
  PRIMARY KEY (space, name, id)
) WITH (fillfactor=50);
COMMENT ON TABLE dlock_rows IS 'dlock tables 1';

-- "5 0" and "-2 2" make "3 2"; NULL if it is not a row of so many numbers, or one would not be from 0 to 2^53.
CREATE OR REPLACE FUNCTION dlock_sum(had bytea, by bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  numbers bigint[];
  one bigint;
  at int := 0;
BEGIN
  IF encode(had, 'escape') !~ '^[0-9]{1,16}( [0-9]{1,16})*$' THEN RETURN NULL; END IF;
  numbers := string_to_array(encode(had, 'escape'), ' ');
  FOREACH one IN ARRAY string_to_array(encode(by, 'escape'), ' ')::bigint[] LOOP
    at := at + 1;
    numbers[at] := numbers[at] + one;
    IF (numbers[at] BETWEEN 0 AND 9007199254740992) IS NOT TRUE THEN RETURN NULL; END IF;
  END LOOP;
  RETURN array_to_string(numbers, ' ')::bytea;
END $$;

-- One commit: its number, or 0. rows/README.md says why it is as it is.
CREATE OR REPLACE FUNCTION dlock_commit(
  of_space text, of_name bytea, locks bytea[], kinds text[], ids bytea[], versions bigint[], texts bytea[]
) RETURNS bigint
LANGUAGE plpgsql SET lock_timeout = '2s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  clock bigint;
  number bigint;
  misfits bigint;
  missing bigint;
  made bytea[];
BEGIN
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF cardinality(locks) > 0 THEN
    PERFORM FROM dlock_rows r WHERE r.space = of_space AND r.name = of_name AND r.id = ANY(locks)
      ORDER BY r.id FOR UPDATE;
  END IF;
  SELECT max(r.version) + 1, count(*) FILTER (WHERE r.id IS NULL AND c.kind IN ('=', '?', '_')),
      count(*) FILTER (WHERE CASE c.kind WHEN '+' THEN r.id IS NULL OR dlock_sum(r.text, c.text) IS NULL
        WHEN '_' THEN r.text <> '' WHEN '<' THEN false WHEN '!' THEN false WHEN '#' THEN false
        ELSE coalesce(r.version, 0) <> c.version END)
    INTO number, missing, misfits
    FROM unnest(kinds, ids, versions, texts) AS c(kind, id, version, text) LEFT JOIN LATERAL (SELECT * FROM dlock_rows
      WHERE space = of_space AND name = of_name AND id = c.id AND c.kind NOT IN ('<', '!', '#') FOR UPDATE) r ON true;
  clock := extract(epoch FROM clock_timestamp()) * 1000000;
  number := greatest(number, clock);
  IF misfits > 0 OR '<' = ANY(kinds) AND clock >= versions[array_position(kinds, '<')] THEN RETURN 0; END IF;
  IF missing > 0 THEN
    WITH fresh AS (INSERT INTO dlock_rows SELECT of_space, of_name, c.id, number, c.text
      FROM unnest(kinds, ids, versions, texts) AS c(kind, id, version, text)
      WHERE c.version = 0 AND c.kind IN ('=', '?', '_') ON CONFLICT DO NOTHING RETURNING id)
    SELECT array_agg(fresh.id) INTO made FROM fresh;
    IF coalesce(cardinality(made), 0) < missing THEN
      DELETE FROM dlock_rows r WHERE r.space = of_space AND r.name = of_name AND r.id = ANY(made);
      RETURN 0;
    END IF;
  END IF;
  UPDATE dlock_rows r SET version = number, text = CASE c.kind WHEN '+' THEN dlock_sum(r.text, c.text) ELSE c.text END
    FROM unnest(kinds, ids, texts) AS c(kind, id, text) WHERE r.space = of_space AND r.name = of_name AND r.id = c.id
      AND c.kind IN ('+', '=', '_') AND r.version < number;
  IF kinds && '{-,?}' THEN
    DELETE FROM dlock_rows r USING unnest(kinds, ids, versions) AS c(kind, id, version)
      WHERE r.space = of_space AND r.name = of_name AND r.id = c.id AND (c.kind = '-' OR c.kind = '?' AND c.version = 0);
  END IF;
  IF '#' = ANY(kinds) THEN
    PERFORM FROM dlock_rows r WHERE r.space = of_space AND r.name = of_name ORDER BY r.id FOR UPDATE;
    DELETE FROM dlock_rows r WHERE r.space = of_space AND r.name = of_name;
  END IF;
  PERFORM pg_notify(convert_from(c.id, 'SQL_ASCII'), '') FROM unnest(kinds, ids) AS c(kind, id) WHERE c.kind = '!';
  RETURN number;
END $$;
COMMENT ON FUNCTION dlock_commit IS 'dlock tables 1';
