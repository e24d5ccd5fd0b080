import Foundation
import HabitStore

/// The exchange of a preferences file for one in which the key is emptied.
struct PreferencesReplacement {
    private let journal: PreferencesJournal

    init(_ journal: PreferencesJournal) { self.journal = journal }

    /// Makes the file that is to take the place.
    func prepare(_ bytes: [UInt8], like status: stat) throws {
        try DurableFile.create(journal.temporary, bytes, like: status)
        try DurableFile.syncFolder(of: journal.temporary)
    }

    /// Whether the file has taken the preferences' place.
    ///
    /// The file beside them tells: it is gone, or is the one that came back. Should somebody else have removed it, the
    /// preferences are still the very file that was read.
    func isDone(now file: PreferencesFile) throws -> Bool {
        guard journal.stage == .prepared else { return false }
        if file.path != journal.path { return file.sha256 == journal.replacementSHA256 }
        guard let beside = try sha256(of: journal.temporary) else {
            return file.identity != journal.identity || file.sha256 != journal.originalSHA256
        }
        return beside != journal.replacementSHA256
    }

    /// The file that came back by the exchange; nil where there is none.
    func returned() throws -> PreferencesFile? {
        guard let beside = try sha256(of: journal.temporary), beside != journal.replacementSHA256 else { return nil }
        return try PreferencesFile(path: journal.temporary)
    }

    /// Takes the exchange back, so that the file that came back is where it was.
    func takeBack() throws {
        guard try exchange() else { throw failure(EINVAL) }
        try DurableFile.syncFolder(of: journal.path)
    }

    /// Puts the prepared file in the place of the preferences, if these are still what was read.
    ///
    /// - Returns: whether it did.
    func replace() throws -> Bool {
        // The prepared file stays where it is: that it is there says that nothing was replaced.
        guard try sha256(of: journal.path) == journal.originalSHA256 else { return false }
        guard try exchange() else {
            guard rename(journal.temporary, journal.path) == 0 else { throw failure(errno) }
            try DurableFile.syncFolder(of: journal.path)
            return true
        }
        ImportCrashPoint.reach("preferences.exchanged")
        if try sha256(of: journal.temporary) != journal.originalSHA256 {
            // The app has written between the look and the exchange. Its file goes back, if it did not write yet again.
            try takeBack()
            guard try sha256(of: journal.temporary) == journal.replacementSHA256 else {
                try takeBack()
                throw HabitStoreError(
                    .busy,
                    "an app goes on writing this file; end it and run the import again, which takes up what is left",
                    at: .init(path: journal.path)
                )
            }
            return false
        }
        try DurableFile.syncFolder(of: journal.path)
        return true
    }

    /// Removes the file beside the preferences.
    func discard() throws {
        guard unlink(journal.temporary) == 0 || errno == ENOENT || errno == ENOTDIR else {
            throw HabitStoreError.system(errno, "the file beside the preferences cannot be removed", journal.temporary)
        }
    }

    /// Exchanges the two files in one step.
    ///
    /// - Returns: false where the file system cannot do so, and nothing has happened.
    private func exchange() throws -> Bool {
        #if canImport(Darwin)
        let result = renamex_np(journal.temporary, journal.path, UInt32(RENAME_SWAP))
        #else
        guard let renameat2 = Self.renameat2 else { return false }
        let result = renameat2(AT_FDCWD, journal.temporary, AT_FDCWD, journal.path, Self.exchangeFlag)
        #endif
        if result == 0 { return true }
        guard [EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(errno) else { throw failure(errno) }
        return false
    }

    #if !canImport(Darwin)
    private typealias Rename =
        @convention(c) (
            Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
        ) -> Int32

    /// `RENAME_EXCHANGE`.
    private static let exchangeFlag: UInt32 = 2
    /// The C library declares it on request only, and older ones do not have it.
    private static let renameat2: Rename? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: Rename.self) }
    #endif

    private func failure(_ number: Int32) -> HabitStoreError {
        HabitStoreError.system(number, "the preferences cannot be replaced; the drafts are in the store", journal.path)
    }

    private func sha256(of path: String) throws -> String? {
        do {
            return ContentDigest.of(try DurableFile.read(path).bytes)
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }
}
