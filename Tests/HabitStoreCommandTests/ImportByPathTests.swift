import Foundation
import Testing

/// Imports into a store that is named by its path, but belongs to a user.
struct ImportByPathTests {
    /// Writes a folder in harsh's format.
    private func writeTracker(_ sandbox: Sandbox) throws {
        try sandbox.write("h/habits", "Gym: 3/7\n")
        try sandbox.write("h/log", "2024-02-29 : Gym : y\n")
    }

    /// An import by path stored its batches, without history, in a store that served a user: they were shown, and gone again after a kill. When it
    /// ended, the
    /// old store did not receive them at first; killed half-way, it left two stores between which the gate saw no difference and opened. Such stores
    /// are now
    /// refused before anything is written.
    @Test func aStoreInAUsersFolderIsRefusedAndKeepsWhatItHas() throws {
        let sandbox = try Sandbox()
        try writeTracker(sandbox)
        try sandbox.run("tag", "add", "sport", "--user", "carol").expectSuccess()
        try sandbox.run("export", "--format", "json", "out", "--user", "carol").expectSuccess()
        try sandbox.bring("alice", to: "live")
        let folder = sandbox.folder(of: "alice")
        let before = try sandbox.state()
        for engine in ["sqlite", "lmdb"] {
            for options in [[], ["--dry-run"]] {
                for source in ["out", "h"] {
                    try sandbox.run(["import", source, "--into", "\(engine):\(folder)/store.\(engine)"] + options)
                        .expectError(65, containing: "import for the user instead")
                }
            }
        }
        #expect(try sandbox.state() == before)
        // So is one that does not exist yet, one that the rollout has not opened, and a link to one.
        let bob = sandbox.folder(of: "bob")
        try FileManager.default.createDirectory(atPath: bob, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: sandbox.path("link"), withDestinationPath: bob)
        for place in ["\(bob)/store.lmdb", sandbox.path("link") + "/store.lmdb"] {
            try sandbox.run("import", "out", "--into", "lmdb:\(place)")
                .expectError(65, containing: "in a user's folder")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bob).isEmpty)
        // The import works for the user.
        try sandbox.run("import", "out").expectSuccess()
        #expect(try sandbox.run("tag", "list").output.contains("sport"))
    }

    /// The same for a store that was moved out of its folder: its epoch shows that it was a user's.
    @Test(arguments: ["sqlite", "lmdb"])
    func aUsersStoreIsKnownWhereverItStands(_ engine: String) throws {
        let sandbox = try Sandbox()
        try writeTracker(sandbox)
        try sandbox.want(engine)
        try sandbox.run("tag", "add", "sport").expectSuccess()
        try sandbox.run("export", "--format", "csv", "out").expectSuccess()
        try FileManager.default.moveItem(
            atPath: sandbox.folder(of: "alice") + "/store.\(engine)",
            toPath: sandbox.path("moved")
        )
        for source in ["out", "h"] {
            try sandbox.run("import", source, "--into", "\(engine):\(sandbox.path("moved"))")
                .expectError(65, containing: "a rollout has this store (authoritative, epoch 1)")
        }
        try sandbox.run("copy", "moved", "\(engine):copy").expectSuccess()
        #expect(try sandbox.run("query", "Entry", "--count", "--store", "copy").output == "0\n")
    }
}
