defmodule RustlerPrecompiled.Archive do
  # An archive with one library: found in the cache, checked, unpacked into `priv`.
  @moduledoc false

  @doc "Puts the library of this name into the application's `priv/native`."
  @spec install(module, atom, String.t(), String.t()) :: :ok | {:error, String.t()}
  def install(module, app, name, base_url) do
    archive = name <> ".so.tar.gz"
    path = Path.join(cache(), archive)
    to = Application.app_dir(app, "priv/native")

    with {:ok, bytes} <- read(path, archive, base_url),
         :ok <- check(bytes, archive, checksums(module)) do
      File.mkdir_p!(to)
      # It may be mapped into a running BEAM: the new one is another file.
      File.rm(Path.join(to, name <> ".so"))
      unpack(bytes, to)
    end
  end

  defp read(path, archive, base_url) do
    with {:error, _reason} <- File.read(path) do
      {:error, "#{path} is not there, and this stand-in does not download #{base_url}/#{archive}"}
    end
  end

  defp check(bytes, archive, checksums) do
    case checksums do
      %{^archive => "sha256:" <> expected} ->
        if Base.encode16(:crypto.hash(:sha256, bytes), case: :lower) == expected,
          do: :ok,
          else: {:error, "the integrity check failed because the checksum of #{archive} does not match"}

      %{^archive => other} ->
        {:error, "checksum algorithm is not supported: #{inspect(other)}"}

      _ ->
        {:error, "#{archive} is not in the checksum file"}
    end
  end

  defp unpack(bytes, to) do
    with {:error, reason} <- :erl_tar.extract({:binary, bytes}, [:compressed, cwd: String.to_charlist(to)]),
         do: {:error, "the archive cannot be unpacked: #{inspect(reason)}"}
  end

  defp checksums(module) do
    file = "checksum-#{module}.exs"
    if File.regular?(file), do: file |> Code.eval_file() |> elem(0), else: %{}
  end

  defp cache do
    System.get_env("RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH") ||
      to_string(:filename.basedir(:user_cache, "rustler_precompiled/precompiled_nifs"))
  end
end
