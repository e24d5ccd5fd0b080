#include <sqlite3.h>

#include "answer.h"

#define ENTRY "id, date, note, value, habitID"
#define HABIT "id, name, createdAt, streak, category, isArchived, timesPerPeriod, periodDays, unit, target"

static const char *const statements[cy_plan_count_of_plans] = {
    [cy_plan_equality] = "SELECT " ENTRY " FROM Entry WHERE habitID = :habit ORDER BY id",
    [cy_plan_range] = "SELECT " ENTRY " FROM Entry WHERE habitID = :habit AND date >= :from AND date < :to ORDER BY id",
    [cy_plan_range_limit] = "SELECT " ENTRY " FROM Entry WHERE habitID = :habit AND date >= :from AND date < :to "
                            "ORDER BY date, id LIMIT :limit",
    [cy_plan_newest] = "SELECT " ENTRY " FROM Entry ORDER BY date DESC, id LIMIT :limit",
    [cy_plan_membership] = "SELECT " ENTRY " FROM Entry WHERE habitID IN "
                           "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                           "?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20) ORDER BY id",
    [cy_plan_prefix] = "SELECT " HABIT " FROM Habit WHERE name >= :text AND name < :behind ORDER BY id",
    [cy_plan_top] = "SELECT " ENTRY " FROM Entry ORDER BY value DESC, id LIMIT :limit",
    [cy_plan_join_name] = "SELECT " ENTRY " FROM Entry WHERE habitID IN (SELECT id FROM Habit WHERE name = :text) "
                          "ORDER BY id",
    // A quarter of all entries: the plus keeps SQLite from a lookup for each of them.
    [cy_plan_join_archived] = "SELECT " ENTRY " FROM Entry WHERE +habitID IN (SELECT id FROM Habit WHERE isArchived) "
                              "ORDER BY id",
    [cy_plan_any_entry] = "SELECT " HABIT " FROM Habit WHERE id IN (SELECT habitID FROM Entry WHERE value > :number) "
                          "ORDER BY id",
    [cy_plan_any_tag] = "SELECT " HABIT " FROM Habit WHERE id IN (SELECT owner FROM Habit_tagIDs WHERE target IN "
                        "(SELECT id FROM Tag WHERE name = :text)) ORDER BY id",
    [cy_plan_count] = "SELECT COUNT(*) FROM Entry WHERE habitID = :habit",
    [cy_plan_count_residual] = "SELECT COUNT(*) FROM Entry WHERE habitID = :habit AND value > :number",
    [cy_plan_values] = "SELECT value FROM Entry WHERE habitID = :habit ORDER BY date, id",
    [cy_plan_dates] = "SELECT date FROM Entry WHERE habitID = :habit ORDER BY date, id",
    [cy_plan_identifiers] = "SELECT id FROM Entry WHERE habitID = :habit AND date >= :from AND date < :to "
                            "ORDER BY date, id",
    [cy_plan_contains] = "SELECT " ENTRY " FROM Entry WHERE instr(note, :text) > 0 ORDER BY id",
    [cy_plan_arithmetic] = "SELECT " ENTRY " FROM Entry WHERE coalesce(value, 0) * 2 + 1 > :number ORDER BY id",
    [cy_plan_regex] = "SELECT " ENTRY " FROM Entry WHERE note IS NOT NULL ORDER BY id",
};

struct cy_sqlite_plans {
    sqlite3 *database;
    sqlite3_stmt *statements[cy_plan_count_of_plans];
    sqlite3_stmt *tags, *begin, *commit;
    regex_t regex;
};

static int prepare(cy_sqlite_plans *store, const char *sql, sqlite3_stmt **statement) {
    return sqlite3_prepare_v3(store->database, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, 0);
}

int cy_sqlite_plans_open(const char *path, const char *regex, cy_sqlite_plans **store) {
    cy_sqlite_plans *made = calloc(1, sizeof *made);
    if (regcomp(&made->regex, regex, REG_EXTENDED)) {
        free(made);
        return SQLITE_ERROR;
    }
    int result = sqlite3_open_v2(path, &made->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (!result) result = sqlite3_exec(made->database, "PRAGMA cache_size = -16384", 0, 0, 0);
    for (int plan = 0; !result && plan < cy_plan_count_of_plans; plan++) {
        result = prepare(made, statements[plan], made->statements + plan);
    }
    if (!result) result = prepare(made, "SELECT target FROM Habit_tagIDs WHERE owner = ? ORDER BY target", &made->tags);
    if (!result) result = prepare(made, "BEGIN", &made->begin);
    if (!result) result = prepare(made, "COMMIT", &made->commit);
    if (result) {
        cy_sqlite_plans_close(made);
        return result;
    }
    *store = made;
    return 0;
}

void cy_sqlite_plans_close(cy_sqlite_plans *store) {
    for (int plan = 0; plan < cy_plan_count_of_plans; plan++) sqlite3_finalize(store->statements[plan]);
    sqlite3_finalize(store->tags);
    sqlite3_finalize(store->begin);
    sqlite3_finalize(store->commit);
    sqlite3_close(store->database);
    regfree(&store->regex);
    free(store);
}

// Binds the values for which the statement has parameters. `behind` is the first text after all texts with the prefix; it must live as long as the
// statement runs.
static void bind(sqlite3_stmt *statement, const cy_question *question, char *behind) {
    size_t length = strlen(question->text);
    int place;
    if ((place = sqlite3_bind_parameter_index(statement, ":habit"))) {
        sqlite3_bind_blob(statement, place, question->habit, 16, SQLITE_STATIC);
    }
    if ((place = sqlite3_bind_parameter_index(statement, ":from"))) {
        sqlite3_bind_double(statement, place, question->from);
    }
    if ((place = sqlite3_bind_parameter_index(statement, ":to"))) {
        sqlite3_bind_double(statement, place, question->to);
    }
    if ((place = sqlite3_bind_parameter_index(statement, ":number"))) {
        sqlite3_bind_double(statement, place, question->number);
    }
    if ((place = sqlite3_bind_parameter_index(statement, ":limit"))) {
        sqlite3_bind_int64(statement, place, question->limit);
    }
    if ((place = sqlite3_bind_parameter_index(statement, ":text"))) {
        sqlite3_bind_text(statement, place, question->text, (int)length, SQLITE_STATIC);
    }
    if ((place = sqlite3_bind_parameter_index(statement, ":behind")) && length > 0) {
        memcpy(behind, question->text, length);
        behind[length - 1]++;
        sqlite3_bind_text(statement, place, behind, (int)length, SQLITE_STATIC);
    }
    if (question->plan == cy_plan_membership) {
        for (int i = 0; i < cy_membership_count; i++) {
            sqlite3_bind_blob(statement, i + 1, question->habits[i], 16, SQLITE_STATIC);
        }
    }
}

static void append_entry(cy_sqlite_plans *store, sqlite3_stmt *statement, cy_plan plan, cy_answer *answer) {
    cy_entry entry = {0};
    entry.note = (const char *)sqlite3_column_text(statement, 2);
    entry.noteLength = entry.note ? sqlite3_column_bytes(statement, 2) : -1;
    if (plan == cy_plan_regex && !cy_matches(&store->regex, entry.note, (size_t)entry.noteLength)) return;
    memcpy(entry.id, sqlite3_column_blob(statement, 0), 16);
    entry.date = sqlite3_column_double(statement, 1);
    entry.hasValue = sqlite3_column_type(statement, 3) != SQLITE_NULL;
    entry.value = sqlite3_column_double(statement, 3);
    const void *habit = sqlite3_column_blob(statement, 4);
    entry.hasHabit = habit != NULL;
    if (habit) memcpy(entry.habit, habit, 16);
    cy_list_append(&answer->entries, &entry, entry.note);
}

static cy_text keep_text(sqlite3_stmt *statement, int column, cy_answer *answer) {
    const void *text = sqlite3_column_text(statement, column);
    return cy_answer_keep_text(answer, text, text ? (size_t)sqlite3_column_bytes(statement, column) : 0);
}

static int append_habit(cy_sqlite_plans *store, sqlite3_stmt *statement, cy_answer *answer) {
    cy_habit *habit = cy_answer_append_habit(answer);
    memcpy(habit->id, sqlite3_column_blob(statement, 0), 16);
    habit->name = keep_text(statement, 1, answer);
    habit->createdAt = sqlite3_column_double(statement, 2);
    habit->streak = sqlite3_column_int64(statement, 3);
    habit->category = keep_text(statement, 4, answer);
    habit->isArchived = (uint8_t)sqlite3_column_int(statement, 5);
    habit->timesPerPeriod = sqlite3_column_int64(statement, 6);
    habit->periodDays = sqlite3_column_int64(statement, 7);
    habit->unit = keep_text(statement, 8, answer);
    habit->hasTarget = sqlite3_column_type(statement, 9) != SQLITE_NULL;
    habit->target = sqlite3_column_double(statement, 9);
    habit->tags = cy_answer_keep(answer, NULL, 0);
    sqlite3_bind_blob(store->tags, 1, habit->id, 16, SQLITE_STATIC);
    int step;
    while ((step = sqlite3_step(store->tags)) == SQLITE_ROW) {
        cy_answer_keep(answer, sqlite3_column_blob(store->tags, 0), 16);
        habit->tagCount++;
    }
    sqlite3_reset(store->tags);
    return step == SQLITE_DONE ? 0 : step;
}

static int append(cy_sqlite_plans *store, sqlite3_stmt *statement, cy_plan plan, cy_answer *answer) {
    switch (plan) {
    case cy_plan_prefix:
    case cy_plan_any_entry:
    case cy_plan_any_tag:
        return append_habit(store, statement, answer);
    case cy_plan_count:
    case cy_plan_count_residual:
        answer->count = sqlite3_column_int64(statement, 0);
        return 0;
    case cy_plan_values:
    case cy_plan_dates:
        cy_answer_append_number(
            answer, sqlite3_column_type(statement, 0) != SQLITE_NULL, sqlite3_column_double(statement, 0));
        return 0;
    case cy_plan_identifiers:
        cy_answer_append_id(answer, sqlite3_column_blob(statement, 0));
        return 0;
    default:
        append_entry(store, statement, plan, answer);
        return 0;
    }
}

static int run(sqlite3_stmt *statement) {
    int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    return result == SQLITE_DONE ? 0 : result;
}

int cy_sqlite_plans_answer(cy_sqlite_plans *store, const cy_question *question, cy_answer *answer) {
    cy_plan plan = question->plan;
    sqlite3_stmt *statement = store->statements[plan];
    char behind[cy_text_capacity];
    cy_answer_clear(answer);
    bind(statement, question, behind);
    // Habits need a second statement, and both must see the same snapshot; a single statement is its own transaction.
    int isPair = plan == cy_plan_prefix || plan == cy_plan_any_entry || plan == cy_plan_any_tag;
    int result = isPair ? run(store->begin) : 0;
    int step = SQLITE_DONE;
    while (!result && (step = sqlite3_step(statement)) == SQLITE_ROW) result = append(store, statement, plan, answer);
    if (!result && step != SQLITE_DONE) result = step;
    sqlite3_reset(statement);
    int end = isPair ? run(store->commit) : 0;
    cy_answer_finish(answer);
    return result ? result : end;
}
