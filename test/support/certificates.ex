defmodule Mote.Certificates do
  @moduledoc "Certificates of a test, made by Erlang, as files in PEM."

  @doc """
  Writes the files of a server, which has a name or an IP address, and of a client, each signed by a root of its own, into a directory. Returns for each its `:identity`, a
  list of options, and its `:root`, the path of what the other one is to trust.
  """
  def write!(dir, name \\ "a.example", opts \\ []) do
    signed = [key: key(name), digest: :sha256]
    server = signed ++ [extensions: [alternative(name)]] ++ Keyword.get(opts, :peer, [])
    chain = &%{root: signed, intermediates: [], peer: &1}
    made = :public_key.pkix_test_data(%{server_chain: chain.(server), client_chain: chain.(signed)})

    for side <- [:server, :client], into: %{} do
      config = made[:"#{side}_config"]
      other = made[if(side == :server, do: :client_config, else: :server_config)]
      path = &Path.join(dir, "#{name}-#{side}-#{&1}.pem")
      {type, key} = config[:key]
      File.write!(path.("cert"), certificate(config[:cert], name))
      File.write!(path.("key"), pem([{type, key, :not_encrypted}]))
      # The other side is given this one's root first, and then its own.
      File.write!(path.("root"), certificate(hd(other[:cacerts]), name))
      {side, %{identity: [certfile: path.("cert"), keyfile: path.("key")], root: path.("root")}}
    end
  end

  @doc "A key that no certificate is for, in PEM."
  def new_key do
    key = :public_key.generate_key({:namedCurve, :secp256r1})
    pem([:public_key.pem_entry_encode(:ECPrivateKey, key)])
  end

  # One for each name, since it takes long to make. That of a curve would do if Erlang named the signature as others read it.
  defp key(name) do
    with nil <- :persistent_term.get({__MODULE__, name}, nil) do
      key = :public_key.generate_key({:rsa, 2_048, 65_537})
      :persistent_term.put({__MODULE__, name}, key)
      key
    end
  end

  defp certificate(der, name), do: pem([{:Certificate, complete(der, key(name)), :not_encrypted}])

  # Erlang 29 leaves out that its algorithms have no parameters, which is not what others take for the same algorithm.
  defp complete(der, key) do
    body = der |> :public_key.pkix_decode_cert(:otp) |> elem(1)

    case elem(body, 7) do
      {_, {_, _, :asn1_NOVALUE} = algorithm, _} = info ->
        info = put_elem(info, 1, put_elem(algorithm, 2, :NULL))
        signature = body |> elem(3) |> put_elem(2, {:asn1_OPENTYPE, <<5, 0>>})
        body |> put_elem(7, info) |> put_elem(3, signature) |> :public_key.pkix_sign(key)

      _complete ->
        der
    end
  end

  defp pem(entries), do: :public_key.pem_encode(entries)

  defp alternative(name), do: {:Extension, {2, 5, 29, 17}, false, [named(String.to_charlist(name))]}

  defp named(name) do
    case :inet.parse_address(name) do
      {:ok, ip} -> {:iPAddress, for(part <- Tuple.to_list(ip), into: "", do: <<part>>)}
      {:error, :einval} -> {:dNSName, name}
    end
  end
end
