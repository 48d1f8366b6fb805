// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Storage slots of each wallet: some that every write changes, and a queue of others. A write adds slots at the end of the
/// queue and sets the oldest ones back to zero, so that a wallet needs to know nothing of its earlier writes.
contract Slots {
    struct Queue {
        uint128 added;
        uint128 cleared;
    }

    uint256 constant FIRST_OF_QUEUE = 1 << 32;

    mapping(address => Queue) public queueOf;
    /// By wallet << 64 | number.
    mapping(uint256 => uint256) public valueOf;

    /// Slots that earlier writes have added are set to zero, at most as many as there are.
    function write(uint256 changed, uint256 added, uint256 cleared, uint256 value) external {
        Queue memory queue = queueOf[msg.sender];
        uint256 first = uint256(uint160(msg.sender)) << 64;
        for (uint256 i = 0; i < changed; ++i) valueOf[first + i] = value + i;
        first += FIRST_OF_QUEUE;
        for (uint256 i = 0; i < cleared && queue.cleared < queue.added; ++i) valueOf[first + queue.cleared++] = 0;
        for (uint256 i = 0; i < added; ++i) valueOf[first + queue.added++] = value + i;
        queueOf[msg.sender] = queue;
    }
}
