import CLMDB
import Foundation
import HabitStore

extension LMDBEnvironmentCore {
    /// How long growth is postponed after readers did not end in time, as a multiple of that wait.
    private static let growthPause = 10.0

    /// Doubles the map if more than half of it is used, or if a transaction did not fit. The gate is locked, and this thread is the
    /// writer.
    func growIfNeeded() throws {
        let figures = try statistics()
        mapSizeBytes = figures.mapSizeBytes
        guard isGrowthWanted || figures.usedBytes > mapSizeBytes / 2 else { return }
        var target = LMDBOptions.rounded(mapSizeBytes * 2)
        while target / 2 < figures.usedBytes, target < LMDBOptions.largestMapSizeBytes { target *= 2 }
        guard target > mapSizeBytes else {
            isGrowthWanted = false
            return
        }
        let room = mapSizeBytes - figures.usedBytes
        // With little room, waiting always pays; otherwise a long reader would slow down every write.
        let isUrgent = isGrowthWanted || room < mapSizeBytes / 8
        let patience = isUrgent || Date() >= growthDeferredUntil ? options.resizeWaitSeconds : 0
        var returnCode: Int32 = 0
        let hasRun = exclusively(waitingSeconds: patience) { returnCode = setMapSize(target) }
        guard hasRun else {
            guard room >= mapSizeBytes / 16 else { throw busy("the reserve is used up and has to grow") }
            growthDeferredUntil = Date(timeIntervalSinceNow: options.resizeWaitSeconds * Self.growthPause)
            return
        }
        isGrowthWanted = false
        guard returnCode != 0 else { return }
        // No address space: continue with the old size, and do not retry with every write.
        growthDeferredUntil = Date(timeIntervalSinceNow: options.resizeWaitSeconds * Self.growthPause)
        guard room >= mapSizeBytes / 16 else {
            throw LMDBError.error(returnCode, during: "enlarging the reserve", path: path)
        }
    }

    /// Maps the file again after another process enlarged it; the gate is locked.
    func mapAnew() throws {
        var returnCode: Int32 = 0
        // 0 means the size in the file.
        let hasRun = exclusively(waitingSeconds: options.resizeWaitSeconds) { returnCode = setMapSize(0) }
        guard hasRun else { throw busy("another process enlarged the file") }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "mapping the file again", path: path) }
    }

    /// No thread is inside.
    private func setMapSize(_ bytes: Int) -> Int32 {
        guard let environment else { return 0 }
        let returnCode = mdb_env_set_mapsize(environment, bytes)
        if returnCode != 0 {
            // If the new map could not be created, the old one is gone too, and only reopening helps.
            needsReopen = true
        } else if bytes > 0 {
            mapSizeBytes = bytes
        }
        return returnCode
    }
}
