import HabitStoreRollout

/// Whether a user's evidence is complete and intact, as JSON.
struct EvidenceVerificationReport: Encodable {
    let user: String
    let verification: EvidenceVerification

    private enum CodingKeys: CodingKey {
        case user, isWhole, files, records, damage, missingUpTo, isCutOff
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(user, forKey: .user)
        try fields.encode(verification.isWhole, forKey: .isWhole)
        try fields.encode(verification.files, forKey: .files)
        try fields.encode(verification.records, forKey: .records)
        try fields.encode(verification.damage, forKey: .damage)
        try fields.encode(verification.missingUpTo, forKey: .missingUpTo)
        try fields.encode(verification.isCutOff, forKey: .isCutOff)
    }
}

extension EvidenceVerification {
    /// The result in one line.
    var sentence: String {
        if let damage { return "DAMAGED: line \(damage.line) of \(damage.file): \(damage.reason)" }
        if isCutOff { return "DAMAGED: it ends before what the stores remember of it, or is another user's" }
        let all = "\(records.counted("record")) in \(files.counted("file"))"
        guard let missingUpTo else { return "whole: \(all)" }
        return "INCOMPLETE: the archive that ends with record \(missingUpTo) is missing; \(all) are whole. The "
            + "checkpoint after it has the sum of the missing records, which can no longer be checked: put the file back"
    }
}
