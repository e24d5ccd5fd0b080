import Testing

@testable import HabitStore

/// Passwords in addresses are found as typed, whether the address is valid or not.
struct PasswordsTests {
    @Test(arguments: [
        ("postgres://me:hunter2@h/db#n", "postgres://me:***@h/db#n"),
        ("POSTGRESQL://me:hunter2@h:5432/db?x=1#n", "POSTGRESQL://me:***@h:5432/db?x=1#n"),
        ("postgres://:hunter2@[::1]:5432/db#n", "postgres://:***@[::1]:5432/db#n"),
        ("postgres://me:12345hunter2@h/db#a@b", "postgres://me:***@h/db#a@b"),
        // Characters that should be percent-encoded.
        ("postgres://me:hun/ter2@h/db#n", "postgres://me:***@h/db#n"),
        ("postgres://me:hunt#er2@h/db#n", "postgres://me:***@h/db#n"),
        ("postgres://me:hunter2?x@h/db#n", "postgres://me:***@h/db#n"),
        ("postgres://me:p@hunter2@h/db#n", "postgres://me:***@h/db#n"),
        ("postgres://me:my hunter2@h/db#n", "postgres://me:***@h/db#n"),
        // No host.
        ("postgres://me:hunter2", "postgres://me:***"), ("postgres://me:hunter2@", "postgres://me:***@"),
        ("postgres://h/db?password=hunter2#n", "postgres://h/db?password=***#n"),
        ("postgres://h/db?p%61ssword=hunter2&a=b#n", "postgres://h/db?p%61ssword=***&a=b#n"),
        ("postgres://h/db?a=b&sslpassword=hunter2", "postgres://h/db?a=b&sslpassword=***"),
        ("host=h password=hunter2 dbname=x", "host=h password=*** dbname=x"),
        ("host=h Password = 'hunt\\'er 2' x=1", "host=h Password = *** x=1"), ("PGPASSWORD=hunter2", "PGPASSWORD=***"),
        ("//me:hunter2@h/db#n: no store is here", "//me:***@h/db#n: no store is here"),
        ("Unexpected argument 'eu=postgresql://me:hunter2@h/db'", "Unexpected argument 'eu=postgresql://me:***@h/db'"),
        ("https://me:hunter2@a.example/", "https://me:***@a.example/"),
    ])
    func aPasswordIsNotRepeated(_ text: String, _ shown: String) {
        #expect(Passwords.redacted(text) == shown)
        #expect(Passwords.redacted(shown) == shown)
        let error = HabitStoreError(.notFound, "about \(text)", at: .init(path: text), detail: text)
        #expect(error.message == "about \(shown)" && error.location.path == shown && error.detail == shown)
        #expect(error.description == "\(shown): about \(shown)")
    }

    @Test(arguments: [
        "postgres://h:5432/db#alice@example.org", "postgres://h1:1,h2:2/db?application_name=a@b#n",
        "//[::1]:5432/db#a:b@c", "postgres://me@h:5432/db#n", "write //HOST:PORT/DATABASE#NAME",
        "http://127.0.0.1:8080; mail a@b", "http://127.0.0.1:8080/", "/tmp/a//b: x@y", "PGPASSWORD or a PGPASSFILE",
        "a = b", "?x=password", "postgres://h:5432: refused, mail a@b", "password=",
    ])
    func whatIsNotAPasswordStays(_ text: String) { #expect(Passwords.redacted(text) == text) }
}
