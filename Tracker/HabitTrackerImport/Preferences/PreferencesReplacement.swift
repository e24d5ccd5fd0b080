import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport

/// Exchanges a preferences file for one with an empty key.
struct PreferencesReplacement {
    private let journal: PreferencesJournal

    init(_ journal: PreferencesJournal) { self.journal = journal }

    /// Creates the replacement file.
    func prepare(_ bytes: [UInt8], like status: stat) throws {
        try FileFailure.told {
            try DurableFile.create(journal.temporary, bytes, like: status)
            try DurableFile.synchronizeFolder(of: journal.temporary)
        }
    }

    /// Whether the replacement is in place.
    ///
    /// After the replacement, the temporary file next to the preferences is gone, or it is the file that was swapped out. If another
    /// program removed it, the preferences are still the file that was read.
    func isDone(now file: PreferencesFile) throws -> Bool {
        guard journal.stage == .prepared else { return false }
        if file.path != journal.path { return file.sha256 == journal.replacementSHA256 }
        guard let beside = try sha256(of: journal.temporary) else {
            return file.identity != journal.identity || file.sha256 != journal.originalSHA256
        }
        return beside != journal.replacementSHA256
    }

    /// The file that was swapped out by the exchange; nil if there is none.
    func returned() throws -> PreferencesFile? {
        guard let beside = try sha256(of: journal.temporary), beside != journal.replacementSHA256 else { return nil }
        return try PreferencesFile(path: journal.temporary)
    }

    /// Reverts the exchange, so that the swapped-out file is in place again.
    func takeBack() throws {
        guard try exchange() else { throw failure(EINVAL) }
        try FileFailure.told { try DurableFile.synchronizeFolder(of: journal.path) }
    }

    /// Replaces the preferences with the prepared file, if they are unchanged since they were read.
    ///
    /// - Returns: whether the file was replaced.
    func replace() throws -> Bool {
        // The prepared file stays in place, which shows that nothing was replaced.
        guard try sha256(of: journal.path) == journal.originalSHA256 else { return false }
        guard try exchange() else {
            do {
                try DurableFile.move(journal.temporary, to: journal.path)
            } catch {
                throw failure(error.number)
            }
            return true
        }
        ImportCrashPoint.reach("preferences.exchanged")
        if try sha256(of: journal.temporary) != journal.originalSHA256 {
            // The app wrote between the check and the exchange. Put its file back, unless it has written yet again.
            try takeBack()
            guard try sha256(of: journal.temporary) == journal.replacementSHA256 else {
                try takeBack()
                throw HabitStoreError(
                    .busy,
                    "an app keeps writing this file; end it and run the import again, which does the rest",
                    at: .init(path: journal.path)
                )
            }
            return false
        }
        try FileFailure.told { try DurableFile.synchronizeFolder(of: journal.path) }
        return true
    }

    /// Removes the temporary file next to the preferences.
    func discard() throws {
        guard unlink(journal.temporary) == 0 || errno == ENOENT || errno == ENOTDIR else {
            throw HabitStoreError.system(
                errno,
                "the temporary file next to the preferences cannot be removed",
                journal.temporary
            )
        }
    }

    /// Exchanges the two files in one step.
    ///
    /// - Returns: false if the file system does not support that; nothing has happened then.
    private func exchange() throws -> Bool {
        do {
            return try DurableFile.exchange(journal.temporary, journal.path)
        } catch {
            throw failure(error.number)
        }
    }

    private func failure(_ number: Int32) -> HabitStoreError {
        HabitStoreError.system(number, "the preferences cannot be replaced; the drafts are in the store", journal.path)
    }

    private func sha256(of path: String) throws -> String? {
        do {
            return ContentDigest.of(try WholeFile.read(path).bytes)
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }
}
