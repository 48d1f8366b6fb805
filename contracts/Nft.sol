// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The part of an ERC-721 token that a mint needs.
contract Nft {
    mapping(uint256 => address) public ownerOf;
    mapping(address => uint256) public balanceOf;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 indexed id);

    error AlreadyMinted();

    function mint(uint256 id) external {
        if (ownerOf[id] != address(0)) revert AlreadyMinted();
        ownerOf[id] = msg.sender;
        balanceOf[msg.sender] += 1;
        totalSupply += 1;
        emit Transfer(address(0), msg.sender, id);
    }
}
