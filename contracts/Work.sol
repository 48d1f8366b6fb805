// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Stands for the calls of other contracts that stress learn has read (src/learn/): it takes any function, and does as much
/// work as the 32 bytes behind its selector say. What follows them only takes space.
contract Work {
    event Worked(uint256 count);

    /// Four numbers of 64 bits: slots of the caller that are added, slots that are changed, rounds of keccak, and events.
    fallback() external {
        bytes32 topic = Worked.selector;
        assembly {
            let work := calldataload(4)
            let added := shr(192, work)
            let changed := and(shr(128, work), 0xffffffffffffffff)
            let rounds := and(shr(64, work), 0xffffffffffffffff)
            let events := and(work, 0xffffffffffffffff)
            let count := 0
            mstore(0, caller())
            mstore(32, 0)
            // The first changed slot counts the calls of the caller; the others get the count as their value.
            if changed {
                let first := keccak256(0, 64)
                count := add(sload(first), 1)
                for { let i := 0 } lt(i, changed) { i := add(i, 1) } { sstore(add(first, i), count) }
            }
            mstore(32, count)
            if added {
                let first := keccak256(0, 64)
                for { let i := 0 } lt(i, added) { i := add(i, 1) } { sstore(add(first, i), 1) }
            }
            for { let i := 0 } lt(i, events) { i := add(i, 1) } { log1(32, 32, topic) }
            for { let i := 0 } lt(i, rounds) { i := add(i, 1) } { mstore(0, keccak256(0, 64)) }
        }
    }
}
