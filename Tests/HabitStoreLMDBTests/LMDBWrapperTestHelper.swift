import Foundation
import HabitStoreTesting
import Testing

/// A second process: a small C program over liblmdb, built with the machine's compiler. Without a compiler, tests that need it are skipped and
/// reported as skipped.
enum LMDBWrapperTestHelper {
    static let compiler = ["/usr/bin/gcc", "/usr/bin/cc", "/usr/bin/clang"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static var isAvailable: Bool { compiler != nil }

    /// Builds the program in the folder and returns its path.
    static func build(in folder: TemporaryFolder) throws -> String {
        let source = folder.path("helper.c")
        let program = folder.path("helper")
        try code.write(toFile: source, atomically: true, encoding: .utf8)
        let outcome = try run(try #require(compiler), ["-O1", "-o", program, source, "-llmdb"])
        try #require(outcome.status == 0, "the helper does not compile: \(outcome.output)")
        return program
    }

    static func run(_ program: String, _ arguments: [String]) throws -> ChildProcess.End {
        try ChildProcess.run(program, arguments, errors: .output)
    }

    /// Runs `body` while the program has a write transaction open on the file.
    static func whileWriting<Result>(_ program: String, path: String, _ body: () throws -> Result) throws -> Result {
        // It ends with its input.
        let process = try ChildProcess(program, ["hold-writing", path], input: .open, errors: .inherited)
        defer { _ = try? process.finish() }
        // It prints a line once it holds LMDB's lock.
        try #require(process.waitForOutput())
        return try body()
    }

    /// Runs `body` while the program is frozen inside a write transaction on the file, then kills it.
    static func whileFrozen(_ program: String, path: String, _ body: () throws -> Void) throws {
        let process = try ChildProcess(program, ["freeze-writing", path], errors: .inherited)
        defer { process.kill() }
        try #require(process.waitForOutput())
        try body()
    }

    private static let code = """
        #include <lmdb.h>
        #include <signal.h>
        #include <sys/file.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        #define TRY(call) do { int rc_ = (call); if (rc_) { if (rc_ == MDB_NOTFOUND) break; return rc_; } } while (0)
        static volatile unsigned char sink;
        static MDB_env *open_env(const char *path, size_t map) {
            MDB_env *env;
            if (mdb_env_create(&env)) exit(3);
            mdb_env_set_mapsize(env, map);
            mdb_env_set_maxdbs(env, 32);
            mdb_env_set_maxreaders(env, 254);
            int rc = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOTLS, 0600);
            if (rc) { printf("open: %s\\n", mdb_strerror(rc)); exit(4); }
            return env;
        }
        static int read_tree(MDB_txn *txn, MDB_dbi dbi, int nested) {
            MDB_cursor *c; MDB_val k, v; int rc;
            if ((rc = mdb_cursor_open(txn, dbi, &c))) return rc;
            while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0) {
                for (size_t i = 0; i < k.mv_size; i++) sink ^= ((unsigned char *)k.mv_data)[i];
                for (size_t i = 0; i < v.mv_size; i++) sink ^= ((unsigned char *)v.mv_data)[i];
                MDB_val found;
                if (!nested && (rc = mdb_get(txn, dbi, &k, &found))) return rc;
                if (nested && k.mv_size < 500) {
                    char name[512]; MDB_dbi sub;
                    memcpy(name, k.mv_data, k.mv_size); name[k.mv_size] = 0;
                    rc = mdb_dbi_open(txn, name, 0, &sub);
                    if (rc == 0) rc = read_tree(txn, sub, 0);
                    if (rc && rc != MDB_NOTFOUND && rc != MDB_INCOMPATIBLE) return rc;
                }
            }
            mdb_cursor_close(c);
            return rc == MDB_NOTFOUND ? 0 : rc;
        }
        static int use(const char *path) {
            char lock[4096]; int rc;
            snprintf(lock, sizeof lock, "%s-lock", path); unlink(lock);
            MDB_env *env = open_env(path, 64 << 20); MDB_txn *txn;
            if ((rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn))) return rc;
            rc = read_tree(txn, 1, 1);
            mdb_txn_abort(txn);
            for (int round = 0; !rc && round < 3; round++) {
                MDB_dbi dbi; static char big[30000];
                if ((rc = mdb_txn_begin(env, NULL, 0, &txn))) break;
                rc = mdb_dbi_open(txn, "records", MDB_CREATE, &dbi);
                for (int i = 0; !rc && i < 40; i++) {
                    char key[32]; int n = snprintf(key, sizeof key, "key-%08d", i * 37 + round);
                    MDB_val k = { n, key }, v = { i % 8 ? 50 : 30000, big };
                    rc = mdb_put(txn, dbi, &k, &v, 0);
                    n = snprintf(key, sizeof key, "key-%08d", i * 31); k.mv_size = n;
                    if (!rc) { rc = mdb_del(txn, dbi, &k, NULL); if (rc == MDB_NOTFOUND) rc = 0; }
                }
                if (rc) mdb_txn_abort(txn); else rc = mdb_txn_commit(txn);
            }
            mdb_env_close(env);
            return rc;
        }
        static int mutate(char **a) {
            FILE *f = fopen(a[0], "rb"); fseek(f, 0, SEEK_END); long size = ftell(f); rewind(f);
            unsigned char *base = malloc(size); if (fread(base, 1, size, f) != size) return 5; fclose(f);
            FILE *list = fopen(a[2], "r"); char kind; long where; int mask, bad = 0;
            while (fscanf(list, " %c %ld %d", &kind, &where, &mask) == 3) {
                printf("%c %ld %d\\n", kind, where, mask); fflush(stdout);
                long length = kind == 't' ? where : size;
                if (kind == 'f') base[where] ^= mask;
                f = fopen(a[1], "wb"); fwrite(base, 1, length, f); fclose(f);
                if (kind == 'f') base[where] ^= mask;
                int rc = use(a[1]);
                if (rc) { printf("error %s\\n", mdb_strerror(rc)); bad++; }
            }
            return bad ? 6 : 0;
        }
        static int grow(char **a) {
            MDB_env *env = open_env(a[0], atol(a[1])); MDB_txn *txn; MDB_dbi dbi; int rc;
            int count = atoi(a[2]); static char value[2000];
            if ((rc = mdb_txn_begin(env, NULL, 0, &txn))) return rc;
            if ((rc = mdb_dbi_open(txn, "grown", MDB_CREATE, &dbi))) return rc;
            for (int i = 0; i < count; i++) {
                char key[32]; MDB_val k = { snprintf(key, sizeof key, "%08d", i), key }, v = { sizeof value, value };
                if ((rc = mdb_put(txn, dbi, &k, &v, 0))) { printf("put: %s\\n", mdb_strerror(rc)); return 7; }
            }
            rc = mdb_txn_commit(txn); mdb_env_close(env);
            return rc ? 8 : 0;
        }
        static int write_on(char **a) {
            MDB_env *env = open_env(a[0], 64 << 20); MDB_txn *txn; MDB_dbi dbi;
            for (int i = 0; i < atoi(a[1]); i++) {
                char value[3000]; memset(value, i, sizeof value);
                if (mdb_txn_begin(env, NULL, 0, &txn) || mdb_dbi_open(txn, "records", MDB_CREATE, &dbi)) return 7;
                for (int j = 0; j < 20; j++) {
                    int number = (i * 20 + j) % 500;
                    MDB_val k = { sizeof number, &number }, v = { (size_t)(i * 97 + j * 131) % 3000, value };
                    if (mdb_put(txn, dbi, &k, &v, 0)) return 8;
                }
                if (mdb_txn_commit(txn)) return 9;
            }
            mdb_env_close(env);
            return 0;
        }
        static int die_reading(char **a) {
            MDB_env *env = open_env(a[0], 64 << 20); MDB_txn *txn;
            if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn)) return 7;
            _exit(0);
        }
        static int hold_writing(char **a) {
            MDB_env *env = open_env(a[0], 64 << 20); MDB_txn *txn;
            if (mdb_txn_begin(env, NULL, 0, &txn)) return 7;
            puts("held"); fflush(stdout);
            while (getchar() != EOF) continue;
            mdb_txn_abort(txn); mdb_env_close(env);
            return 0;
        }
        static int freeze_writing(char **a) {
            MDB_env *env = open_env(a[0], 64 << 20); MDB_txn *txn; int fd;
            if (mdb_env_get_fd(env, &fd) || flock(fd, LOCK_EX)) return 7;
            if (mdb_txn_begin(env, NULL, 0, &txn)) return 8;
            puts("held"); fflush(stdout);
            raise(SIGSTOP);
            return 0;
        }
        int main(int n, char **a) {
            if (n < 3) return 2;
            if (!strcmp(a[1], "mutate") && n == 5) return mutate(a + 2);
            if (!strcmp(a[1], "grow") && n == 5) return grow(a + 2);
            if (!strcmp(a[1], "write") && n == 4) return write_on(a + 2);
            if (!strcmp(a[1], "die-reading")) return die_reading(a + 2);
            if (!strcmp(a[1], "hold-writing")) return hold_writing(a + 2);
            if (!strcmp(a[1], "freeze-writing")) return freeze_writing(a + 2);
            return 2;
        }
        """
}
